"""Lists in pages, by ``--limit`` and ``--marker`` as OpenStack's clients have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import click

from gantt.cli.command_session import CommandSession
from gantt.cli.option_kinds import preset
from gantt.cli.output import plain, say
from gantt.cli.text_columns import TextColumns
from gantt.errors import NotFound
from gantt.model.fleet_lists import MOST_LISTED

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def paged(command: F) -> F:
    """Give a command ``limit`` and ``marker`` of a page, which the service makes."""
    limit = preset(
        "--limit", click.IntRange(1, MOST_LISTED), 1_000, "Maximum lines of one page."
    )
    marker = click.option("--marker", help="Where the page before ended.")
    return limit(marker(command))


def cut(command: F) -> F:
    """Give a command the options of a page that is cut here, from the whole list."""
    limit = click.option(
        "--limit", type=click.IntRange(1), help="Maximum lines; default: all."
    )
    marker = click.option(
        "--marker", help="Only what follows this one, as the page before told."
    )
    return limit(marker(command))


def page_of(
    found: Sequence[T], limit: int | None, marker: str | None, name: Callable[[T], str]
) -> Sequence[T]:
    """What follows ``marker`` (the ``name`` of one), at most ``limit``, and tell how to
    go on. Raises NotFound for a marker that is not in the list."""
    start = 0
    if marker is not None:
        places = [place for place, one in enumerate(found) if name(one) == marker]
        if not places:
            raise NotFound(
                f"The list has no {marker!r} to go on after: give --marker as the page "
                "before told, or leave it out to begin again."
            )
        start = places[0] + 1
    page = found[start : None if limit is None else start + limit]
    if page and start + len(page) < len(found):
        _tell_next(name(page[-1]))
    return page


def print_page(
    session: CommandSession,
    columns: TextColumns,
    found: Sequence[T],
    limit: int,
    name: Callable[[T], str] = attrgetter("uuid"),
) -> None:
    """Print a page that the service made, and tell how to go on after a full one."""
    session.print_each(columns, found)
    if found and len(found) == limit:
        _tell_next(name(found[-1]))


def _tell_next(marker: str) -> None:
    say(f"There may be more: --marker {plain(marker)}", err=True)
