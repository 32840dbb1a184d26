"""A fleet in one statement: what another system of record knows of all its hosts.

Separate from single reports because most of it is not new, because one bad value must
not keep out the rest, and because it may also say what is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from gantt.model.bounds import Name
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service

T = TypeVar("T")
CELL: Final = "nova-cell"
"""The binary under which a cell is told among the services: its host is its uuid, and
it is forced down while it is unreadable."""
AGENT: Final = "gantt-agent"
"""The binary under which the membership of a host in the group of agents is told among
the services: it is forced down while the host is not a member."""
OPERATOR: Final = "gantt-operator"
"""The binary under which what an operator said of a host is told among the services:
it is disabled, whatever its nova-compute and its agent say."""
LABELS: Final = "gantt-labels"
"""The binary under which the labels that an operator gave a host are told among the
services: as its reason, ``rack=r7 power=a``."""
RELATIONS: Final = "gantt-relations"
"""The binary under which it is told, as its reason, how the members of a server group
are spread; its host is the group's uuid."""
DEMAND: Final = "gantt-demand"
"""The binary under which a demand that waits for room is told among the services: its
host is its uuid, and it is disabled once it has ended."""
ARTIFACTS: Final = "gantt-artifacts"
"""The binary under which an artifact that an operator registered is told among the
services: its host is the id, and its reason the size in bytes."""
LIVENESS: Final = "gantt-liveness"
"""The binary, and the host, of the group itself: it is forced down while its members
are not known, so that what is known of them is the last known state."""


class Verdict(Struct, frozen=True):
    """Hosts that came up or went down, by name; ``is_frozen``: whether the last known
    state stands because members are not known; None: it is too early to tell."""

    up: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    is_frozen: bool | None = None


class HostReport(Struct, frozen=True):
    """What is known of one compute node. ``saved_at``: when Nova last wrote its row, in
    microseconds since the epoch; None: just now. ``unreadable``: columns that count as
    unknown because they cannot be read, and why."""

    host: Name
    node: Name
    stats: HostStats
    saved_at: int | None = None
    unreadable: dict[str, str] = {}


class Cell(Struct, frozen=True):
    """A cell of the cloud. ``disabled``: its hosts get no new instances.
    ``unreadable``: what is known of its hosts may be out of date. ``read_at``: when all
    that it has was known last, in microseconds since 1970; UNSET: not told."""

    uuid: Name
    disabled: bool = False
    unreadable: bool = False
    read_at: int | UnsetType = UNSET


class Move(Struct, frozen=True):
    """A migration of Nova that has not ended. ``migration_uuid``: the consumer that may
    keep what the instance has at the source. None: it has no such uuid."""

    instance_uuid: Name | None = None
    migration_uuid: Name | None = None


class FleetNames(Struct, frozen=True):
    """Everything that exists; what is not named is gone, also instances on hosts that
    are not named. ``hosts``: (host, node); ``services``: (host, binary);
    ``aggregates`` and ``groups``: uuids. ``kept_cells``: uuids of cells that could not
    be read: their hosts and services stay."""

    hosts: frozenset[tuple[Name, Name]] = frozenset()
    services: frozenset[tuple[Name, Name]] = frozenset()
    cells: frozenset[Name] = frozenset()
    aggregates: frozenset[Name] = frozenset()
    groups: frozenset[Name] = frozenset()
    kept_cells: frozenset[Name] = frozenset()


class FeedTurn(Struct, frozen=True):
    """``holder``: the feed that passes on what it reads, "": none; ``beat``: how often
    a turn was taken or kept."""

    holder: str = ""
    beat: int = 0


class FleetStatement(Struct, frozen=True):
    """Any part of a fleet. ``instances``: by service host, all that are on it; one
    that tells no facts, or only whose it is, keeps the others that are known.
    ``moves``: by service host, all that are on their way from or to it.
    ``names``: everything that exists; None: nothing is deleted. ``writes_books``: also
    write inventories, traits and aggregates of providers, which computes do themselves
    where they use Placement."""

    cells: tuple[Cell, ...] = ()
    services: tuple[Service, ...] = ()
    hosts: tuple[HostReport, ...] = ()
    aggregates: tuple[HostAggregate, ...] = ()
    groups: tuple[ServerGroup, ...] = ()
    instances: dict[Name, tuple[Instance, ...]] = {}
    moves: dict[Name, tuple[Move, ...]] = {}
    names: FleetNames | None = None
    writes_books: bool = False

    def parts(self, size: int) -> Iterator[FleetStatement]:
        """The statement in parts: statements of about ``size`` things each, in order; a
        report counts as ten. A host's instances stay together, as do its moves, and
        ``names`` come last."""
        for field in ("cells", "services", "hosts", "aggregates", "groups"):
            things = getattr(self, field)
            step = max(1, size // 10) if field == "hosts" else size
            for start in range(0, len(things), step):
                some = {field: things[start : start + step]}
                yield FleetStatement(**some, writes_books=self.writes_books)
        for some_instances in _by_host(self.instances, size):
            yield FleetStatement(instances=some_instances)
        for some_moves in _by_host(self.moves, size):
            yield FleetStatement(moves=some_moves)
        if self.names is not None:
            yield FleetStatement(names=self.names, writes_books=self.writes_books)


def _by_host(
    said: Mapping[str, tuple[T, ...]], size: int
) -> Iterator[dict[str, tuple[T, ...]]]:
    found: dict[str, tuple[T, ...]] = {}
    count = 0
    for host, things in said.items():
        if found and count + 1 + len(things) > size:
            yield found
            found, count = {}, 0
        found[host] = things
        count += 1 + len(things)
    if found:
        yield found


class FleetRefusal(Struct, frozen=True):
    """A part of a statement that was refused: ``what`` it is about, and ``why``."""

    what: str
    why: str
