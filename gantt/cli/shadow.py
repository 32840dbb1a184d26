"""``gantt shadow``: decide beside Nova, and compare before switching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, get_args

import click
import msgspec

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import preset
from gantt.cli.output import plain, say, table, time_text
from gantt.cli.program import config_file_option
from gantt.cli.stop_signals import stop_signals
from gantt.cli.text_columns import TextColumns
from gantt.cli.time_text import time_option
from gantt.errors import NotFound, Refused, how_to_install
from gantt.model.printable import counted
from gantt.model.shadow import (
    MOST_SHADOWS,
    ShadowRecord,
    ShadowReport,
    Verdict,
)


@click.group("shadow")
def shadow() -> None:
    """Decide beside Nova's scheduler, and compare with what Nova claims."""


@shadow.command("report")
@time_option("--since", "Only requests from this time on (UTC).")
@time_option("--until", "Only requests before this time (UTC).")
@books_command
def report(session: CommandSession, *, since: int | None, until: int | None) -> None:
    """Show how far Gantt and Nova agree, where they differ, and why.

    \b
    Example:
      gantt shadow report
    """
    found = session.books.shadow_report(since=since, until=until)
    if session.is_prose:
        say("\n\n".join(_paragraphs(plain(found))))
    else:
        session.print_answer(found, ("figure", "value"), _figures(found))


@shadow.command("list")
@time_option("--since", "Only requests from this time on (UTC).")
@time_option("--until", "Only requests before this time (UTC).")
@click.option("--verdict", type=click.Choice(get_args(Verdict)), help="Only these.")
@preset(
    "--limit", click.IntRange(1, MOST_SHADOWS), 100, "Maximum lines, the latest first."
)
@books_command
def list_(session: CommandSession, /, **asked: Any) -> None:
    """List what Gantt decided and what Nova claimed, the latest first.

    \b
    Example:
      gantt shadow list --limit 20
    """
    _print(session, session.books.shadow_records(**asked))


@shadow.command("show")
@click.argument("request_or_instance")
@books_command
def show(session: CommandSession, *, request_or_instance: str) -> None:
    """Show all that is recorded of a request or an instance.

    \b
    Example:
      gantt shadow show 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    name, books = request_or_instance, session.books
    found = books.shadow_records(request_id=name)
    found = found or books.shadow_records(instance_uuid=name)
    if not found:
        raise NotFound(
            f"There is no shadow record of {name!r}: a request is recorded once Nova's "
            "claim is seen, or after shadow_settle_s, and only the latest are kept."
        )
    if session.is_prose:
        say("\n\n".join(_record_text(plain(one)) for one in found))
    else:
        _print(session, found)


def _print(session: CommandSession, found: Sequence[ShadowRecord]) -> None:
    session.print_answer(found, _COLUMNS.names, _COLUMNS.rows(found))


@shadow.command("listen")
@config_file_option(
    "Configuration with transport_url, such as /etc/nova/nova.conf; may be repeated."
)
@click.option(
    "--pool",
    default="gantt",
    show_default=True,
    help="Listeners with the same name share the notifications; other consumers get "
    'each as well. "": use the queue that consumers without a pool share.',
)
@books_command
def listen(
    session: CommandSession, *, config_files: tuple[str, ...], pool: str
) -> None:
    """Decide whenever Nova does, by its notifications, until SIGTERM or Ctrl-C.

    \b
    Example:
      gantt shadow listen --config-file /etc/nova/nova.conf
    """
    from importlib.util import find_spec

    if find_spec("oslo_messaging") is None:
        raise Refused(
            "gantt shadow listen needs oslo.messaging, which is not installed: "
            f"{how_to_install('rpc')}."
        )
    if not config_files:
        raise Refused(
            "Which message bus is not known: give --config-file, with a file such as "
            "/etc/nova/nova.conf."
        )
    from gantt.openstack.nova_notifications import Listener, read_conf

    listener = Listener(read_conf(config_files), session.books, pool or None)
    with stop_signals() as ended:
        if listener.start(ended):
            say("Listening for scheduler.select_destinations.* of Nova.", err=True)
            ended.wait()
            listener.stop()
    done = listener.endpoint
    say(
        f"Notifications passed on: {done.passed_on:,}; lost: {done.lost:,}; not "
        f"readable: {done.unread:,}.",
        err=True,
    )


# -- the report ------------------------------------------------------------------------


def _paragraphs(found: ShadowReport) -> Iterator[str]:
    if not found.records:
        yield "There are no shadow records of this time."
        return
    yield (
        f"{counted(found.records, 'instance')} from {time_text(found.first_at)} to "
        f"{time_text(found.last_at)}."
    )
    yield table(("verdict", "count"), list(found.verdicts.items()))
    yield table(("figure", "value"), list(_figures(found)))
    if found.disagreements:
        yield table(_EXAMPLE.names, [*_EXAMPLE.rows(found.disagreements)])
    yield "\n".join(f"Note: {one}" for one in found.notes)


def _figures(found: ShadowReport) -> Iterator[tuple[str, Any]]:
    """Each number by its place in the document that ``-o json`` prints."""
    yield "records", found.records
    for part in (
        "agreement",
        "gantt_latency",
        "nova_latency",
        "lag",
        "facts",
        "switch",
    ):
        yield from _numbers(part, msgspec.to_builtins(getattr(found, part)))


def _numbers(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _numbers(f"{path}.{name}", part)
    else:
        yield path, _short(value)


def _short(value: float | None) -> float | None:
    return round(value, 4) if isinstance(value, float) else value


_EXAMPLE = TextColumns(
    "verdict reason count instance_uuid host gantt_host request_id",
    instance_uuid=attrgetter("example.instance_uuid"),
    host=attrgetter("example.host"),
    gantt_host=attrgetter("example.gantt_host"),
    request_id=attrgetter("example.request_id"),
)


# -- records ---------------------------------------------------------------------------


def _rounded(name: str) -> Callable[[ShadowRecord], Any]:
    return lambda one: _short(getattr(one, name))


_COLUMNS = TextColumns(
    "asked_at instance_uuid verdict host gantt_host rank refused_by gantt_s nova_s "
    "lag_s request_id",
    asked_at=lambda one: time_text(one.asked_at),
    **{name: _rounded(name) for name in ("gantt_s", "nova_s", "lag_s")},
)


def _record_text(one: ShadowRecord) -> str:
    """The fields that have a value, then the hosts."""
    fields = msgspec.structs.asdict(one)
    left_out = {"ranked", "refused_hosts"}
    rows = [
        (name, time_text(value) if name.endswith("_at") else value)
        for name, value in fields.items()
        if name not in left_out and value not in (None, "", {}, False)
    ]
    parts = [table(("field", "value"), rows)]
    if one.ranked:
        hosts = [(n, r.host, r.node, r.weight) for n, r in enumerate(one.ranked, 1)]
        parts.append(table(("rank", "host", "node", "weight"), hosts))
    if one.refused_hosts:
        refused = [(r.host, r.node, r.refused_by) for r in one.refused_hosts]
        parts.append(table(("host", "node", "refused_by"), refused))
    return "\n\n".join(parts)
