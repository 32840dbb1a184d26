"""``gantt watch``: changes to the books as they happen, one line per revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.output import print_csv, print_json_line, print_line, time_text
from gantt.errors import Gone, Unavailable
from gantt.model.watching import Event

COLUMNS = ("id", "at", "kind", "request_id", "changes")


@click.command("watch")
@click.option(
    "--since",
    metavar="REVISION",
    help="Start after this revision, or after the event with this id; default: now.",
)
@click.option(
    "--follow/--no-follow",
    default=True,
    show_default=True,
    help="Wait for new events, or stop at the end of the log.",
)
@books_command
def watch(session: CommandSession, *, since: str | None, follow: bool) -> None:
    """Print every change to the books, until Ctrl-C.

    With -o json each line is an object with the new state of the changed rows. To
    resume an interrupted watch, give --since the id of its last line.

    \b
    Examples:
      gantt watch
      gantt watch --since 1 --no-follow -o json
    """
    place = since
    session.expect(*COLUMNS)
    if session.output == "csv":
        print_csv(session.columns or COLUMNS)
    try:
        for event in _events(session, since, follow=follow):
            _print(session, event)
            place = event.id
    except KeyboardInterrupt:
        return
    except Unavailable as error:
        hint = f"resume with --since {place}" if place else "start again"
        raise Unavailable(f"{error.message} To miss nothing, {hint}.") from error
    except Gone as error:
        raise Gone(
            f"{error.message} With 'gantt watch', start without --since."
        ) from error


def _events(
    session: CommandSession, since: str | None, *, follow: bool
) -> Iterator[Event]:
    if follow:
        yield from session.books.watch(since)
        return
    place = since
    while True:
        found = session.books.events(place)
        yield from found.events
        if not found.events:
            return
        place = found.cursor


def _print(session: CommandSession, event: Event) -> None:
    if not session.is_whole:
        print_line(session.output, COLUMNS, _cells(event), session.columns)
    elif session.output == "yaml":
        session.print_document([event])
    else:
        print_json_line(event)


def _cells(event: Event) -> tuple[str, ...]:
    return (
        event.id,
        time_text(event.at) or "-",
        event.kind,
        event.request_id or "-",
        summary(event),
    )


def summary(event: Event) -> str:
    """Count of rows written and removed per table."""
    written = Counter(one.table for one in event.changes if one.row is not None)
    removed = Counter(one.table for one in event.changes if one.row is None)
    parts = [f"{table} {count}" for table, count in written.items()]
    parts += [f"{table} -{count}" for table, count in removed.items()]
    return ", ".join(parts)
