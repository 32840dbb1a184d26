"""``gantt place`` and ``gantt placement``: places by name, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import click
import msgspec

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import repeated, switch
from gantt.cli.output import time_text
from gantt.cli.page_options import cut, page_of
from gantt.cli.refusal import refused_plainly
from gantt.cli.text_columns import TextColumns
from gantt.errors import NotFound, NoValidHost
from gantt.model.demand import Demand, Item
from gantt.model.demand_queue import seconds_of
from gantt.model.demand_relations import ItemRelation
from gantt.model.forms.relations import read_relations
from gantt.model.operation_bodies import PlaceBody
from gantt.model.placements import PlacedQuery, PlacedView
from gantt.model.relations import RelationKind

_SPREAD: Final[tuple[RelationKind, ...]] = ("spread", "distinct")
_TO: Final[tuple[RelationKind, ...]] = ("near", "apart")
_PLACED: Final = TextColumns("name host node item uuid")


@click.command("place")
@click.argument("name", required=False)
@click.option("--count", type=click.IntRange(min=1), help="How many of it; default: 1.")
@click.option("--cpu", help="CPUs of each.")
@click.option("--memory", help="Memory of each: 4GiB, or a number of MiB.")
@click.option("--disk", help="Disk of each: 20GiB, or a number of GiB.")
@click.option("--gpu", help="GPUs of each.")
@repeated("--resource resources", "CLASS=N", "So much of another class.")
@repeated("--label labels", "KEY=VALUE", "A label that its hosts have.")
@repeated("--without", "KEY=VALUE", "A label that its hosts have not.")
@repeated("--prefer", "KEY=VALUE", "A label that its hosts had better have.")
@repeated("--aggregate aggregates", "NAME", "An aggregate that its hosts are in.")
@click.option("--zone", help="Zone that its hosts are in.")
@click.option("--host", help="The one host that it may be on.")
@repeated("--not-with", "NAME", "What was placed before, and is on other hosts.")
@repeated("--spread", "KEY[:SKEW][:soft]", "Spread it over racks, or another key.")
@repeated("--distinct", "KEY[:N]", "At most N of it in each domain of the key.")
@repeated("--near", "KEY:NAME", "In the rack, or other domain, of what is called NAME.")
@repeated("--apart", "KEY:NAME", "In none of the domains of what is called NAME.")
@repeated("--artifact artifacts", "ID", "What its hosts had better hold.")
@repeated("--need-artifact need_artifacts", "ID", "What its hosts must hold.")
@click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take items from a JSON file, as POST /gantt/place has them.",
)
@click.option("--plan", default="", help="Name: asked again, it has the same answer.")
@click.option("--project", help="Project that the names belong to.")
@click.option(
    "--lease",
    type=float,
    metavar="SECONDS",
    help="All of it ends after SECONDS unless confirmed.",
)
@click.option("--wait", help="Wait for room, at most so long: 90s, 10m or 1h.")
@click.option("--priority", type=int, default=0, help="Higher ones come first.")
@switch("--dry-run", "Tell where it would be, and book nothing.")
@books_command
def place(
    session: CommandSession,
    /,
    *,
    name: str | None,
    path: Path | None,
    plan: str,
    project: str | None,
    lease: float | None,
    dry_run: bool,
    wait: str | None,
    priority: int,
    **asked: Any,
) -> None:
    """Book places for what is called NAME, all of them or none.

    With --wait, what finds no room waits for it, also if this command is stopped:
    'gantt demand list' shows it, 'gantt demand cancel' ends it.

    \b
    Examples:
      gantt place web --count 3 --cpu 2 --memory 4GiB
      gantt place db --cpu 2 --memory 8GiB --lease 300 --plan order-17
    """
    if (name is None) == (path is None):
        raise click.UsageError("Give a NAME, or items with --file.")
    given = {key: value for key, value in asked.items() if value not in (None, ())}
    if path is not None and given:
        raise click.UsageError("With --file the items say what each of them needs.")
    if name is None:
        body = _body(path)
        items, relations = body.items, body.relations
    else:
        relations = tuple(_relations(given))
        items = (_item(name, given),)
    terms = plan, project, lease, dry_run
    wait_s = None if wait is None else seconds_of(wait)
    more = relations, wait_s, priority, f"req-{uuid4()}"
    demand = Demand(items, *terms, *more)
    session.expect(*_PLACED.names)
    try:
        found = session.books.await_plan(session.books.place_demand(demand))
    except NoValidHost as refusal:
        raise refused_plainly(session.output, refusal) from refusal
    session.print_answer(found, _PLACED.names, _PLACED.rows(found.placements))


def _item(name: str, given: dict[str, Any]) -> Item:
    for key in ("resources", "labels", "without", "prefer"):
        if key in given:
            given[key] = _pairs(given[key], needs_value=key == "resources")
    return Item(name, **given)


def _pairs(words: Iterable[str], *, needs_value: bool) -> dict[str, str]:
    found = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not key or (needs_value and not separator):
            raise click.UsageError(f"{word!r} is no KEY=VALUE.")
        found[key] = value
    return found


def _relations(given: dict[str, Any]) -> Iterator[ItemRelation]:
    """Taken out of what is given."""
    for kind in _SPREAD:
        for word in given.pop(kind, ()):
            for one in read_relations(kind, word, f"--{kind}"):
                yield ItemRelation(
                    kind,
                    one.key,
                    most=one.most,
                    min_domains=one.min_domains,
                    soft=not one.is_hard,
                )
    for kind in _TO:
        for word in given.pop(kind, ()):
            key, separator, to = word.partition(":")
            if not (key and separator and to):
                raise click.UsageError(f"--{kind}: {word!r} is no KEY:NAME.")
            yield ItemRelation(kind, key, to)


def _body(path: Path | None) -> PlaceBody:
    raw = b"" if path is None else path.read_bytes()
    try:
        return msgspec.json.decode(raw, type=PlaceBody)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{path} has no items: {error}") from None


@click.group("placement")
def placement() -> None:
    """What was placed by 'gantt place'."""


@placement.command("list")
@click.option("--plan", help="Only what this plan placed.")
@click.option("--project", help="Only what belongs to this project.")
@cut
@books_command
def list_placements(
    session: CommandSession,
    *,
    plan: str | None,
    project: str | None,
    limit: int | None,
    marker: str | None,
) -> None:
    """List what was placed by name.

    \b
    Example:
      gantt placement list --plan order-17
    """
    found = session.books.list_placements(PlacedQuery(plan=plan, project=project))
    session.print_each(_LISTED, page_of(found, limit, marker, attrgetter("uuid")))


@placement.command("show")
@click.argument("name")
@click.option("--project", help="Project that the name belongs to.")
@books_command
def show(session: CommandSession, *, name: str, project: str | None) -> None:
    """Show where something is, and what it takes.

    \b
    Example:
      gantt placement show web-1
    """
    query = PlacedQuery(name, project=project)
    found = session.books.list_placements(query)
    if not found:
        raise NotFound(
            f"Nothing that is called {name!r} is placed: 'gantt placement list' shows "
            "what is."
        )
    session.print_each(_SHOWN, found)


_project = click.option("--project", help="Project that the name belongs to.")
_plan = click.option("--plan", default="", help="All that this plan placed.")


@placement.command("confirm")
@click.argument("name", default="")
@_plan
@_project
@books_command
def confirm(
    session: CommandSession, *, name: str, plan: str, project: str | None
) -> None:
    """Keep what was placed with a lease, and all that was placed with it.

    \b
    Example:
      gantt placement confirm --plan order-17
    """
    session.books.confirm_placement(name, plan=plan, project=project)


@placement.command("release")
@click.argument("name", default="")
@_plan
@_project
@books_command
def release(
    session: CommandSession, *, name: str, plan: str, project: str | None
) -> None:
    """Free what was placed. It does not end what runs.

    \b
    Example:
      gantt placement release web-3
    """
    session.books.release_placement(name, plan=plan, project=project)


def _until(one: PlacedView) -> str | None:
    at = one.leased_until
    return None if at is None else time_text(at, "seconds")


_ALL = "name state host node plan project leased_until uuid"
_LISTED = TextColumns(_ALL, leased_until=_until)
_SHOWN = TextColumns(f"{_ALL} allocations", leased_until=_until)
