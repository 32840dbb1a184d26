"""``gantt demand``: what waits for room."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.output import time_text
from gantt.cli.page_options import cut, page_of
from gantt.cli.text_columns import TextColumns
from gantt.model.demand_queue import DemandsQuery, DemandView


@click.group("demand")
def demand() -> None:
    """Demands of 'gantt place --wait' that wait for room."""


@demand.command("list")
@click.option(
    "--state",
    type=click.Choice(("waiting", "placed", "late", "cancelled", "refused")),
    help="Only demands in this state.",
)
@click.option("--project", help="Only what belongs to this project.")
@cut
@books_command
def list_demands(
    session: CommandSession,
    *,
    state: Any,
    project: str | None,
    limit: int | None,
    marker: str | None,
) -> None:
    """List demands that wait, the next one first, and those that ended lately.

    \b
    Example:
      gantt demand list --state waiting
    """
    found = session.books.list_demands(DemandsQuery(state, project))
    session.print_each(_LISTED, page_of(found, limit, marker, attrgetter("uuid")))


@demand.command("show")
@click.argument("uuid")
@books_command
def show(session: CommandSession, *, uuid: str) -> None:
    """Show a demand: its place in the queue, why it waits and what would let it in, or
    what became of it.

    \b
    Example:
      gantt demand show 5d1f0a52-6c1d-4b78-9d2e-51a7c84f0b99
    """
    session.print_each(_SHOWN, [session.books.show_demand(uuid, explain=True)])


@demand.command("cancel")
@click.argument("uuid")
@books_command
def cancel(session: CommandSession, *, uuid: str) -> None:
    """End a demand that waits. It is not placed.

    \b
    Example:
      gantt demand cancel 5d1f0a52-6c1d-4b78-9d2e-51a7c84f0b99
    """
    session.books.cancel_demand(uuid)


def _until(one: DemandView) -> str | None:
    return time_text(one.until, "seconds")


def _things(one: DemandView) -> str:
    more = len(one.things) - _MOST_NAMES
    shown = ", ".join(one.things[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def _hosts(one: DemandView) -> dict[str, str]:
    placed = () if one.placed is None else one.placed.placements
    return {each.name: each.host for each in placed}


_MOST_NAMES: Final = 3
_ALL: Final = "state place things priority until plan project uuid"
_LISTED: Final = TextColumns(_ALL, until=_until, things=_things)
_SHOWN: Final = TextColumns(
    f"{_ALL} said hosts",
    until=_until,
    things=_things,
    said=lambda one: "\n".join(one.said),
    hosts=_hosts,
)
