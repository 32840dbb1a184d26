"""``gantt explain``: how a decision was made; also prints the decisions of select."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from gantt.cli.output import plain, print_document, print_rows, say, table
from gantt.cli.session import Session, books_command
from gantt.cli.why import steps_text, why_text
from gantt.errors import NotFound
from gantt.model.selection import Decision

MOST = 100
RECORDS = (
    "at",
    "request_id",
    "instances",
    "hosts",
    "chosen",
    "attempts",
    "failure",
)


@click.command("explain")
@click.argument("request_or_instance")
@books_command
def explain(session: Session, *, request_or_instance: str) -> None:
    """Show how hosts were chosen for a request or instance, or why none was.

    A service keeps the latest decisions of all its processes.
    """
    name = request_or_instance
    found = session.books.decisions(request_id=name, limit=MOST)
    found = found or session.books.decisions(instance_uuid=name, limit=MOST)
    if not found:
        raise NotFound(
            f"There is no record of a decision about {name!r}: only the latest "
            "decisions are kept ([scheduler] shared_records for all processes on a "
            "database; [scheduler] records with memory://)."
        )
    if session.output == "json":
        print_document(msgspec.to_builtins(found))
    elif session.output == "csv":
        print_rows("csv", RECORDS, [_record(one) for one in found])
    else:
        say("\n\n".join(decision_text(one) for one in found))


def print_decision(output: str, found: Decision) -> None:
    """Print one decision: all of it as table or JSON, only the scores as CSV."""
    if output == "json":
        print_document(msgspec.to_builtins(found))
    elif output == "csv":
        print_rows("csv", *_scores(found))
    else:
        say(decision_text(found))


def decision_text(found: Decision) -> str:
    """A decision in paragraphs: request, filters, scores, hosts, reasons."""
    return "\n\n".join(filter(None, _paragraphs(plain(found))))


def _paragraphs(found: Decision) -> Iterator[str]:
    dry = " (dry run: nothing is claimed)" if found.is_dry_run else ""
    took = "".join(f", {name} {s * 1000:.2f} ms" for name, s in found.timings.items())
    yield (
        f"{found.request_id or 'Request without an id'} at {_time(found.at)}{dry}: "
        f"{found.hosts} hosts, driver {found.driver}, revision {found.revision}, "
        f"{_times(found.attempts)}{took}."
    )
    if found.failure is not None:
        yield found.failure
    if found.steps and found.why is None:
        yield steps_text(found.steps)
    if found.why is not None:
        yield why_text(found.why)
    if found.scores:
        yield table(*_scores(found))
    if found.chosen:
        yield table(("instance", "host", "alternates"), list(_chosen(found)))


def _scores(found: Decision) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows: the multiplied score of each weigher that contributes."""
    names = [
        name
        for name in (found.scores[0].parts if found.scores else ())
        if any(score.parts[name][1] for score in found.scores)
    ]
    rows = [
        (
            rank,
            one.host,
            one.node,
            round(one.weight, 4),
            *(round(one.parts[name][1], 4) for name in names),
        )
        for rank, one in enumerate(found.scores, start=1)
    ]
    return ("rank", "host", "node", "weight", *names), rows


def _chosen(found: Decision) -> Iterator[tuple[Any, ...]]:
    for number, mine in enumerate(found.chosen):
        named = number < len(found.instance_uuids)
        name = found.instance_uuids[number] if named else number + 1
        yield name, mine[0].service_host, [one.service_host for one in mine[1:]]


def _record(found: Decision) -> tuple[Any, ...]:
    return (
        _time(found.at),
        found.request_id,
        found.instance_uuids,
        found.hosts,
        [mine[0].service_host for mine in found.chosen],
        found.attempts,
        found.failure,
    )


def _time(at: int) -> str:
    moment = datetime.fromtimestamp(at / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds")


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
