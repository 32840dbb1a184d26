"""``gantt top``: hosts, decisions and queue of a running service on one screen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import preset
from gantt.cli.output import has_terminal, plain, say, screen, table, time_text
from gantt.errors import Refused, Unavailable
from gantt.model.selection import Decision

Labels: TypeAlias = "tuple[tuple[str, str], ...]"
Figures: TypeAlias = "Mapping[str, Mapping[Labels, float]]"
"""Name of a sample -> its labels, sorted -> its value."""

_MOST_DECISIONS: Final = 100
_RATES: Final = {
    "decisions": "gantt_schedule_total",
    "commits": "gantt_batches_total",
    "commands": "gantt_commands_total",
    "requests": "gantt_http_requests_total",
}
# A figure of the queue, and its limit.
_QUEUES: Final = {
    "commands for the committer": ("gantt_queue_length", "gantt_queue_limit"),
    "requests for a thread": ("gantt_requests_waiting", "gantt_requests_waiting_limit"),
}


@click.command("top")
@preset("--interval", click.FloatRange(0.2, 3600), 2.0, "Seconds between two screens.")
@click.option("--once", is_flag=True, help="Print one screen, then end.")
@preset(
    "--decisions most",
    click.IntRange(0, _MOST_DECISIONS),
    10,
    "Number of decisions to show, the latest first.",
)
@books_command
def top(session: CommandSession, *, interval: float, once: bool, most: int) -> None:
    """Show hosts, queue and decisions of a running service, until Ctrl-C.

    One screen is printed, as with --once, where the output is no terminal. Formats
    other than table, and -c, print figures alone, once. The figures are those of
    /metrics.

    \b
    Examples:
      gantt top --interval 5
      gantt top --once
    """
    _metrics(session)  # refused before the screen is cleared
    if not session.is_prose:
        figures = figures_of(_metrics(session))
        session.print_rows(("figure", "labels", "value"), _flat(figures))
    elif once or not has_terminal():
        say(_screen(session, {}, 0.0, most)[0])
    else:
        _follow(session, interval, most)


def _follow(session: CommandSession, interval: float, most: int) -> None:
    before: Figures = {}
    at = 0.0
    try:
        with screen() as show:
            while True:
                now = time.monotonic()
                try:
                    text, before = _screen(session, before, now - at, most)
                    at = now
                except Unavailable as error:  # it may be back for the next screen
                    text = plain(error.message)
                show(text)
                time.sleep(interval)
    except KeyboardInterrupt:
        return


def _metrics(session: CommandSession) -> str:
    """Raises Refused, Unavailable."""
    from gantt.client.remote import RemoteGantt

    if not isinstance(session.books, RemoteGantt):
        raise Refused(
            "gantt top shows a running service, and --url is a database: give the "
            "address of 'gantt serve', such as http://127.0.0.1:8778."
        )
    return session.books.metrics()


def _screen(
    session: CommandSession, before: Figures, seconds: float, most: int
) -> tuple[str, Figures]:
    """The text, and its figures. ``before``: those of ``seconds`` ago, if any."""
    now = figures_of(_metrics(session))
    found = session.books.decisions(limit=most) if most else ()
    text = "\n\n".join(_paragraphs(now, before, seconds, plain(found)))
    return text, now


def _flat(figures: Figures) -> Iterator[tuple[Any, ...]]:
    for name, values in figures.items():
        for labels, value in values.items():
            yield name, dict(labels), value


def figures_of(text: str) -> Figures:
    """Raises Unavailable where ``text`` is something else."""
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, dict[Labels, float]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                labels = tuple(sorted(one.labels.items()))
                found.setdefault(one.name, {})[labels] = one.value
    except ValueError as error:
        raise Unavailable(
            f"The answer of /metrics is not in the format of Prometheus ({error}): "
            "check that the address is that of 'gantt serve'."
        ) from error
    return found


# -- paragraphs ------------------------------------------------------------------------


def _paragraphs(
    now: Figures, before: Figures, seconds: float, found: tuple[Decision, ...]
) -> Iterator[str]:
    yield _heading(now)
    states = by_label(now, "gantt_hosts")
    hosts = "".join(f", {count:,.0f} {plain(state)}" for state, count in states.items())
    yield f"Hosts{hosts.replace(',', ':', 1) if hosts else ': none'}."
    used = by_label(now, "gantt_used")
    rows = [
        (name, round(used.get(name, 0)), round(most), _percent(used.get(name, 0), most))
        for name, most in by_label(now, "gantt_capacity").items()
    ]
    if rows:
        yield table(("resource_class", "used", "capacity", "percent"), rows)
    waiting = [
        (what, round(_sum(now, name)), round(_sum(now, limit)))
        for what, (name, limit) in _QUEUES.items()
    ]
    yield table(("queue", "waiting", "limit"), waiting)
    rates = [
        (what, round(_sum(now, name)), _rate(now, before, name, seconds))
        for what, name in _RATES.items()
    ]
    yield table(("count", "total", "per_second"), rates)
    if found:
        columns = ("at", "request", "instances", "hosts", "ms", "outcome")
        yield table(columns, [_decision(one) for one in found])


def _heading(now: Figures) -> str:
    silence = _sum(now, "gantt_database_silence_seconds")
    database = f"silent for {silence:.0f} s" if silence else "answers"
    return (
        f"Revision {_sum(now, 'gantt_revision'):.0f}, slowest process "
        f"{_sum(now, 'gantt_revision_lag'):.0f} behind; the database {database}."
    )


def _decision(one: Decision) -> tuple[Any, ...]:
    hosts = [mine[0].service_host for mine in one.chosen]
    return (
        time_text(one.at, "seconds"),
        one.request_id or None,
        len(one.instance_uuids),
        one.hosts,
        round(sum(one.timings.values()) * 1000, 2),
        one.failure or " ".join(hosts),
    )


def by_label(figures: Figures, name: str) -> Mapping[str, float]:
    """Values of a figure with one label."""
    return {labels[0][1]: value for labels, value in figures.get(name, {}).items()}


def _sum(figures: Figures, name: str) -> float:
    return sum(figures.get(name, {}).values())


def _rate(now: Figures, before: Figures, name: str, seconds: float) -> float | None:
    """None on the first screen, and after the service began to count anew."""
    grown = _sum(now, name) - _sum(before, name)
    return round(grown / seconds, 1) if before and grown >= 0 else None


def _percent(used: float, most: float) -> float | None:
    return round(100 * used / most, 1) if most else None
