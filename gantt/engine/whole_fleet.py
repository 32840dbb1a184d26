"""A statement about many hosts at once, as commands of which each stands by itself.

Separate from ``Fleet`` because most of such a statement is known already: that is found
out without the committer, a slice at a time, and only the rest takes its turn there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from gantt.engine.fleet_methods import warn_of_metadata
from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.uuids import new_uuid
from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.fleet import (
    CELL,
    FeedTurn,
    FleetNames,
    FleetRefusal,
    FleetStatement,
    HostReport,
    Move,
)
from gantt.model.forms import scalars, values
from gantt.model.hosts import HostAggregate, Instance, ServerGroup, Service
from gantt.model.names import canonical
from gantt.placement import fleet_news
from gantt.store.interface import FEEDS, Lead, Store

T = TypeVar("T")
# Things that one query or one command looks at: milliseconds under the state lock.
SLICE: Final = 1000

_Command = tuple[str, c.Command[Any]]


class WholeFleet(StateMethods):
    """``set_fleet`` of the library, and which feed calls it."""

    def __init__(self, state: StateAccess, store: Store) -> None:
        super().__init__(state)
        self._store = store

    def set_fleet(self, statement: FleetStatement) -> tuple[FleetRefusal, ...]:
        refused: list[FleetRefusal] = []
        if statement.names is not None:
            # First: what is gone may have what another has now, a number or a uuid.
            refused += self._submit(self._gone(statement, _as_kept(statement.names)))
        for part in statement.parts(SLICE):
            refused += self._services(part)
            refused += self._hosts(part)
            refused += self._aggregates(part)
            refused += self._groups(part)
        # An instance that moved is taken in where it is before it is missed where it
        # was: what only its row tells (its group) goes with it.
        refused += self._instances(statement)
        for part in statement.parts(SLICE):
            refused += self._moves(part)
        return tuple(refused)

    def feed_turn(
        self, holder: str = "", *, seen_holder: str = "", seen_beat: int | None = None
    ) -> FeedTurn:
        found: Lead | None = None
        if seen_beat is not None:
            found = self._store.lead(holder, Lead(seen_holder, seen_beat), FEEDS)
        found = found or self._store.leader(FEEDS)
        return FeedTurn(found.holder, found.beat)

    def _services(self, part: FleetStatement) -> list[FleetRefusal]:
        cells = tuple(
            Service(
                one.uuid,
                CELL,
                one.disabled,
                one.unreadable,
                last_seen_up=one.read_at,
            )
            for one in part.cells
        )
        said = cells + part.services
        good, refused = _checked(said, values.service, _name_of_service)
        news = self._read(fleet_news.services, good)
        return refused + self._submit(
            (_name_of_service(one), c.UpdateService(one)) for one in news
        )

    def _hosts(self, part: FleetStatement) -> list[FleetRefusal]:
        writes_books = part.writes_books and self._checks.writes_books
        ratios = self._checks.options.novas_ratios

        def command(report: HostReport) -> c.UpdateHost:
            return c.UpdateHost(
                scalars.name("host", report.host),
                scalars.name("node", report.node),
                replace(values.stats(report.stats), comes_from_nova=True),
                new_provider_uuid=new_uuid() if writes_books else "",
                initial_ratios=ratios,
                writes_books=writes_books,
                takes_uuid=not writes_books,
                saved_at=report.saved_at,
                unreadable=report.unreadable,
            )

        good, refused = _checked(part.hosts, command, _name_of_host)
        news = self._read(fleet_news.hosts, good)
        return refused + self._submit(
            (f"host {one.host}, node {one.node}", one) for one in news
        )

    def _aggregates(self, part: FleetStatement) -> list[FleetRefusal]:
        good, refused = _checked(
            part.aggregates, lambda one: values.aggregates((one,))[0], _name_of_uuid
        )
        news = self._read(fleet_news.aggregates, good)
        warn_of_metadata(news)
        writes_books = part.writes_books and self._checks.writes_books
        return refused + self._submit(
            (_name_of_uuid(one), c.SetHostAggregates((one,), writes_books))
            for one in news
        )

    def _groups(self, part: FleetStatement) -> list[FleetRefusal]:
        good, refused = _checked(part.groups, values.server_group, _name_of_uuid)
        news = self._read(fleet_news.groups, good)
        return refused + self._submit(
            (_name_of_uuid(one), c.SetServerGroup(one)) for one in news
        )

    def _instances(self, statement: FleetStatement) -> list[FleetRefusal]:
        """Most of a long list is known: only the rest is checked and submitted."""
        refused: list[FleetRefusal] = []
        nameless: set[str] = set()
        for part in statement.parts(SLICE):
            new: list[_Command] = []
            for host, said in part.instances.items():
                for some in _slices(said):
                    news = self._read(fleet_news.instances, some, host)
                    good, bad = _checked(news, _instance, _name_of_uuid)
                    refused += bad
                    nameless.update(one.what for one in bad if not _is_uuid(one.what))
                    if good:
                        command = c.UpdateInstances(host, tuple(good), keeps_facts=True)
                        new.append((f"instances of {host}", command))
            refused += self._submit(new)
        for part in statement.parts(SLICE):
            lists = [
                (host, tuple(one.uuid for one in said if str(one.uuid) not in nameless))
                for host, said in part.instances.items()
            ]
            # What only lost some of its instances has no news above.
            refused += self._submit(
                (
                    f"instances of {host}",
                    c.SyncInstances(host, tuple(map(canonical, named))),
                )
                for host, named in self._reader.read(
                    fleet_news.lists, lists, consistency=Consistency.LOCAL
                )
            )
        return refused

    def _moves(self, part: FleetStatement) -> list[FleetRefusal]:
        refused: list[FleetRefusal] = []
        commands = []
        for host, said in part.moves.items():
            good, bad = _checked(said, _move, _name_of_move)
            refused += bad
            commands.append(c.SetMoves(host, tuple(good)))
        news = self._read(fleet_news.moves, commands)
        return refused + self._submit((f"moves of {one.host}", one) for one in news)

    def _gone(self, statement: FleetStatement, names: FleetNames) -> Iterator[_Command]:
        writes_books = statement.writes_books and self._checks.writes_books
        gone = self._reader.read(fleet_news.gone, names)
        for host, node in gone.hosts:
            yield f"host {host}, node {node}", c.DeleteHost(host, node)
        for host, binary in gone.services:
            yield f"service {binary} on {host}", c.DeleteService(host, binary)
        for uuid in gone.aggregates:
            yield uuid, c.DeleteHostAggregate(uuid, None, writes_books)
        for uuid in gone.groups:
            yield uuid, c.DeleteServerGroup(uuid)
        for host in gone.hosts_of_instances:
            yield f"instances of {host}", c.SyncInstances(host, ())

    def _read(
        self, query: Callable[..., list[T]], said: Sequence[T], *more: str
    ) -> list[T]:
        """What of ``said`` is not known, from the columns as they are."""
        if not said:
            return []
        return self._reader.read(query, said, *more, consistency=Consistency.LOCAL)

    def _submit(self, commands: Iterable[_Command]) -> list[FleetRefusal]:
        named = list(commands)
        answers = self._committer.submit_all([command for _, command in named])
        return [
            FleetRefusal(what, answer.message)
            for (what, _), answer in zip(named, answers, strict=True)
            if isinstance(answer, GanttError)
        ]


_Said = TypeVar("_Said")


def _checked(
    said: Iterable[_Said],
    check: Callable[[_Said], T],
    name: Callable[[_Said], str],
) -> tuple[list[T], list[FleetRefusal]]:
    """What may go on, and what was refused by itself."""
    good: list[T] = []
    refused: list[FleetRefusal] = []
    for one in said:
        try:
            good.append(check(one))
        except GanttError as refusal:
            refused.append(FleetRefusal(name(one), refusal.message))
    return good, refused


def _as_kept(names: FleetNames) -> FleetNames:
    """Its uuids in the one form that they have here."""
    return replace(
        names,
        cells=frozenset(map(canonical, names.cells)),
        kept_cells=frozenset(map(canonical, names.kept_cells)),
        aggregates=frozenset(map(canonical, names.aggregates)),
        groups=frozenset(map(canonical, names.groups)),
    )


def _slices(instances: Sequence[Instance]) -> Iterator[Sequence[Instance]]:
    for start in range(0, len(instances), SLICE):
        yield instances[start : start + SLICE]


def _instance(one: Instance) -> Instance:
    return values.instances((one,))[0]


def _move(one: Move) -> Move:
    for name in ("instance_uuid", "migration_uuid"):
        if getattr(one, name) is not None:
            scalars.uuid(f"moves.{name}", getattr(one, name))
    return one


def _is_uuid(text: str) -> bool:
    try:
        scalars.uuid("uuid", text)
    except GanttError:
        return False
    return True


def _name_of_service(one: Service) -> str:
    return f"service {one.binary} on {one.host}"


def _name_of_host(one: HostReport) -> str:
    return f"host {one.host}, node {one.node}"


def _name_of_move(one: Move) -> str:
    return f"migration {one.migration_uuid} of {one.instance_uuid}"


def _name_of_uuid(one: HostAggregate | ServerGroup | Instance) -> str:
    return str(one.uuid)
