"""The small tables of the fleet: aggregates, instances, claims, groups, services.

Plain containers, each with the look-ups that rules and filters need; apart from the
fleet, which keeps the columns of hosts true to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from gantt.model import rows as t
from gantt.model.hosts import IMAGE_REF
from gantt.model.request_identity import read_answered
from gantt.model.rows import (
    BookingRow,
    FleetRow,
    HostAggregateRow,
    InstanceRow,
    ServerGroupRow,
    ServiceRow,
)
from gantt.state import holdings

R = TypeVar("R", bound=FleetRow)
# Only facts of members of a group have it.
_GROUPED = f'"{t.GROUP}"'
COMPUTE = "nova-compute"
_ARTIFACTS: Final = f'"{t.ARTIFACTS}"'
_IMAGE: Final = f'"{IMAGE_REF}"'
_BROUGHT: Final = '"artifacts":['
_OF_CLAIMS: Final = _GROUPED, _ARTIFACTS, _IMAGE


class FleetTable(Generic[R]):
    def __init__(self) -> None:
        self.by_id: dict[int, R] = {}

    def get(self, key: int) -> R | None:
        return self.by_id.get(key)

    def rows(self) -> Iterator[R]:
        """Every row, by ascending id."""
        return (self.by_id[key] for key in sorted(self.by_id))


class HostAggregateTable(FleetTable[HostAggregateRow]):
    """Aggregates with their hosts and metadata decoded. ``index`` is the column of an
    aggregate in ``Hosts.aggregates``; it is reused after removal."""

    def __init__(self) -> None:
        super().__init__()
        self.by_uuid: dict[str, HostAggregateRow] = {}
        self.by_number: dict[int, HostAggregateRow] = {}
        self.index: dict[str, int] = {}
        self.hosts: dict[str, frozenset[str]] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        # Moves when one comes, goes or changes.
        self.moves = 0
        self._of_host: dict[str, dict[str, None]] = {}
        self._free: list[int] = []

    def of_host(self, host: str) -> tuple[str, ...]:
        """The uuids of the aggregates that name ``host``, oldest first."""
        return tuple(self._of_host.get(host, ()))

    def having(self, key: str) -> dict[int, str]:
        """Index -> value, of the aggregates whose metadata have ``key``."""
        return {
            self.index[uuid]: metadata[key]
            for uuid, metadata in self.metadata.items()
            if key in metadata
        }

    def put(self, row: HostAggregateRow) -> frozenset[str]:
        """The hosts that joined or left."""
        self.moves += 1
        old = self.by_id.get(row.id)
        before = self.hosts.get(row.uuid, frozenset())
        if old is not None:
            self._unnumber(old)
        self.by_id[row.id] = self.by_uuid[row.uuid] = row
        if row.number is not None:
            self.by_number[row.number] = row
        if row.uuid not in self.index:
            place = heappop(self._free) if self._free else len(self.index)
            self.index[row.uuid] = place
        hosts = frozenset(msgspec.json.decode(row.hosts))
        self.hosts[row.uuid] = hosts
        self.metadata[row.uuid] = msgspec.json.decode(row.metadata)
        for host in before - hosts:
            self._leave(host, row.uuid)
        for host in hosts - before:
            self._of_host.setdefault(host, {})[row.uuid] = None
        return before ^ hosts

    def remove(self, key: int) -> tuple[int, frozenset[str]]:
        """The index and the hosts that it had."""
        self.moves += 1
        row = self.by_id.pop(key)
        del self.by_uuid[row.uuid], self.metadata[row.uuid]
        self._unnumber(row)
        hosts = self.hosts.pop(row.uuid)
        for host in hosts:
            self._leave(host, row.uuid)
        place = self.index.pop(row.uuid)
        heappush(self._free, place)
        return place, hosts

    def _unnumber(self, row: HostAggregateRow) -> None:
        if row.number is not None and self.by_number.get(row.number) is row:
            del self.by_number[row.number]

    def _leave(self, host: str, uuid: str) -> None:
        mine = self._of_host[host]
        del mine[uuid]
        if not mine:
            del self._of_host[host]


class InstanceTable(FleetTable[InstanceRow]):
    """Which instance its host names where."""

    def __init__(self) -> None:
        super().__init__()
        self.by_uuid: dict[str, InstanceRow] = {}
        self._on: dict[str, dict[str, InstanceRow]] = {}
        self._in_group: dict[str, dict[str, None]] = {}
        self._group_of: dict[str, str] = {}
        self.artifacts: dict[str, tuple[str, ...]] = {}
        self.using: holdings.Counts = {}

    def on(self, host: str) -> dict[str, InstanceRow]:
        """Instances on ``host`` by uuid; not to be changed."""
        return self._on.get(host, {})

    def hosts(self) -> Iterable[str]:
        """The hosts that name any instance."""
        return self._on.keys()

    def of_group(self, group_uuid: str) -> frozenset[str]:
        """The instances that were claimed for a server group."""
        return frozenset(self._in_group.get(group_uuid, ()))

    def group_of(self, instance_uuid: str) -> str | None:
        """The server group that an instance was claimed for."""
        return self._group_of.get(instance_uuid)

    def load(self, rows: list[InstanceRow]) -> None:
        """Rows of a snapshot, none of which is known."""
        by_id, by_uuid, on = self.by_id, self.by_uuid, self._on
        for row in rows:
            by_id[row.id] = by_uuid[row.uuid] = row
            on.setdefault(row.host, {})[row.uuid] = row
            if any(one in row.facts for one in _OF_CLAIMS):
                self._join_group(row)

    def whose(self, uuid: str) -> Whose:
        """What was told of an instance's name and project."""
        row = self.by_uuid.get(uuid)
        if row is None or not row.facts.startswith("{"):
            return _NOBODYS
        return _WHOSE.decode(row.facts)

    def names(self, uuids: Iterable[str]) -> dict[str, str]:
        """Uuid -> name, of those whose name is known."""
        found = ((uuid, self.whose(uuid).name) for uuid in uuids)
        return {uuid: name for uuid, name in found if name is not None}

    def put(self, row: InstanceRow) -> set[str]:
        """The hosts whose instances changed."""
        old = self.by_id.get(row.id)
        changed = {row.host}
        if old is not None and old.host != row.host:
            self._leave(old)
            changed.add(old.host)
        if old is None or old.facts != row.facts or old.host != row.host:
            self._leave_group(old or row)
            self._join_group(row)
        self.by_id[row.id] = self.by_uuid[row.uuid] = row
        self._on.setdefault(row.host, {})[row.uuid] = row
        return changed

    def remove(self, key: int) -> set[str]:
        """The host that it was on."""
        row = self.by_id.pop(key)
        self.by_uuid.pop(row.uuid, None)
        self._leave(row)
        self._leave_group(row)
        return {row.host}

    def _leave(self, row: InstanceRow) -> None:
        mine = self._on[row.host]
        mine.pop(row.uuid, None)
        if not mine:
            del self._on[row.host]

    def _join_group(self, row: InstanceRow) -> None:
        group = grouped(row)
        if group is not None:
            self._group_of[row.uuid] = group
            self._in_group.setdefault(group, {})[row.uuid] = None
        if _ARTIFACTS in row.facts or _IMAGE in row.facts:
            self.artifacts[row.uuid], names = _used(row)
            holdings.count(self.using, names, row.host, 1)

    def _leave_group(self, row: InstanceRow) -> None:
        group = self._group_of.pop(row.uuid, None)
        if group is not None:
            _leave(self._in_group, group, row.uuid)
        if row.uuid in self.artifacts:
            del self.artifacts[row.uuid]
            holdings.count(self.using, _used(row)[1], row.host, -1)


class Whose(msgspec.Struct, frozen=True):
    """The name of an instance and its project, among its facts; None: not known."""

    display_name: Any = None
    project_id: Any = None

    @property
    def name(self) -> str | None:
        return self.display_name if isinstance(self.display_name, str) else None

    @property
    def project(self) -> str | None:
        return self.project_id if isinstance(self.project_id, str) else None


_WHOSE: Final = msgspec.json.Decoder(Whose)
_NOBODYS: Final = Whose()


def grouped(row: InstanceRow) -> str | None:
    """The server group that the facts of an instance tell."""
    # Most facts tell of none: do not even decode them.
    if _GROUPED not in row.facts:
        return None
    facts = msgspec.json.decode(row.facts)
    found = facts.get(t.GROUP) if isinstance(facts, dict) else None
    return found if isinstance(found, str) else None


def _used(row: InstanceRow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What its claim named; and with that, its image."""
    try:
        found = msgspec.json.decode(row.facts, type=_Held)
    except msgspec.ValidationError:
        return (), ()
    named = found.artifacts
    return named, tuple({*named, found.image_ref} - {""})


class _Held(msgspec.Struct):
    artifacts: tuple[str, ...] = msgspec.field(default=(), name=t.ARTIFACTS)
    image_ref: str = ""


class BookingTable(FleetTable[BookingRow]):
    """Claims, which are promises that no report knows yet; what is called how, by
    consumer; plans by project and name. All but these three are of claims alone."""

    def __init__(self) -> None:
        super().__init__()
        self.by_instance: dict[str, BookingRow] = {}
        self.leased: dict[int, int] = {}
        self._over: dict[int, None] = {}
        self._in_group: dict[str, dict[str, None]] = {}
        self._of: dict[str, dict[int, None]] = {}
        self._on: dict[int, dict[str, None]] = {}
        self.by_holder: dict[str, dict[int, None]] = {}
        self.booked: dict[str, BookingRow] = {}
        self.artifacts: dict[str, tuple[str, ...]] = {}
        self.using: holdings.Counts = {}
        self.plans: dict[tuple[str, str], BookingRow] = {}
        self._of_plan: dict[tuple[str, str], dict[str, None]] = {}
        self._ended_plans: dict[tuple[str, str], None] = {}

    def has(self, claim: str) -> bool:
        return claim in self._of

    def of(self, claim: str) -> list[BookingRow]:
        """The rows of one claim, oldest first."""
        return [self.by_id[key] for key in sorted(self._of.get(claim, ()))]

    def on(self, host_id: int) -> Iterable[str]:
        """The instances that are promised the host."""
        return self._on.get(host_id, {}).keys()

    def held_by(self, consumer_uuid: str) -> list[BookingRow]:
        """Those that the consumer's allocations keep, see BookingRow; oldest first."""
        keys = self.by_holder.get(consumer_uuid, ())
        return [self.by_id[key] for key in sorted(keys)]

    def of_group(self, group_uuid: str) -> frozenset[str]:
        """The instances with a claim that was made for a server group."""
        return frozenset(self._in_group.get(group_uuid, ()))

    def of_plan(self, project: str, plan: str) -> Iterable[str]:
        """The consumers of what was booked by a plan and lives."""
        return self._of_plan.get((project, plan), {}).keys()

    def ended_plans(self) -> list[BookingRow]:
        """Plans of which nothing lives, oldest first."""
        ended = (self.plans[one] for one in self._ended_plans)
        return sorted(ended, key=lambda row: row.id)

    def due_plans(self, now: int) -> Iterator[BookingRow]:
        """Those of them that are to be forgotten by ``now``, or of which it is not
        known yet when."""
        ended = (self.plans[one] for one in self._ended_plans)
        return (row for row in ended if row.ends_at is None or row.ends_at <= now)

    def claims(self) -> Iterator[BookingRow]:
        """The rows of claims, by ascending id."""
        return (row for row in self.rows() if row.is_claim)

    def over(self) -> list[BookingRow]:
        """Those that ended and still hold something elsewhere, oldest first."""
        return [self.by_id[key] for key in sorted(self._over)]

    def expired(self, now: int, limit: int) -> list[str]:
        """Claims whose lease ended before ``now``, the earliest first."""
        over = sorted((end, key) for key, end in self.leased.items() if end <= now)
        return list(dict.fromkeys(self.by_id[key].claim for _, key in over))[:limit]

    def put(self, row: BookingRow) -> None:
        self.by_id[row.id] = row
        place = row.project, row.plan
        if row.name:
            self.booked[row.instance_uuid] = row
            self._of_plan.setdefault(place, {})[row.instance_uuid] = None
            self._ended_plans.pop(place, None)
        elif row.plan:
            self.plans[place] = row
            if place not in self._of_plan:
                self._ended_plans[place] = None
        if row.claim:
            self._put_claim(row)

    def _put_claim(self, row: BookingRow) -> None:
        self.by_instance[row.instance_uuid] = row
        self._of.setdefault(row.claim, {})[row.id] = None
        self._on.setdefault(row.host_id, {})[row.instance_uuid] = None
        if row.group_uuid is not None:
            self._in_group.setdefault(row.group_uuid, {})[row.instance_uuid] = None
        if row.answered is not None and _BROUGHT in row.answered:
            self.artifacts[row.instance_uuid] = named = _brought(row.answered)
            holdings.count(self.using, named, row.host_id, 1)
        if row.topology is not None and row.held_by is not None:
            self.by_holder.setdefault(row.held_by, {})[row.id] = None
        if row.remote is not None and row.is_over:  # few are of a remote Placement
            self._over[row.id] = None
            self.leased.pop(row.id, None)
        elif row.leased_until is None:
            self.leased.pop(row.id, None)
        else:
            self.leased[row.id] = row.leased_until

    def remove(self, key: int) -> BookingRow:
        row = self.by_id.pop(key)
        place = row.project, row.plan
        if row.name:
            self.booked.pop(row.instance_uuid, None)
            _leave(self._of_plan, place, row.instance_uuid)
            if place not in self._of_plan and place in self.plans:
                self._ended_plans[place] = None
        elif row.plan:
            self.plans.pop(place, None)
            self._ended_plans.pop(place, None)
        if row.is_claim:
            self._remove_claim(row, key)
        return row

    def _remove_claim(self, row: BookingRow, key: int) -> None:
        if self.by_instance.get(row.instance_uuid) is row:
            del self.by_instance[row.instance_uuid]
            if row.instance_uuid in self.artifacts:
                del self.artifacts[row.instance_uuid]
        if row.answered is not None and _BROUGHT in row.answered:
            holdings.count(self.using, _brought(row.answered), row.host_id, -1)
        self.leased.pop(key, None)
        self._over.pop(key, None)
        for owners, owner, member in (
            (cast(Any, self._of), row.claim, key),
            (cast(Any, self._on), row.host_id, row.instance_uuid),
            (cast(Any, self._in_group), row.group_uuid, row.instance_uuid),
            (cast(Any, self.by_holder), row.topology and row.held_by, key),
        ):
            if owner is not None:
                _leave(owners, owner, member)


def _leave(owners: dict[Any, dict[Any, None]], owner: object, member: object) -> None:
    owners[owner].pop(member, None)
    if not owners[owner]:
        del owners[owner]


def _brought(answered: str) -> tuple[str, ...]:
    """The artifacts that a claim brings to its host."""
    return read_answered(answered).artifacts or ()


class ServerGroupTable(FleetTable[ServerGroupRow]):
    """Server groups with their members decoded."""

    def __init__(self) -> None:
        super().__init__()
        self.by_uuid: dict[str, ServerGroupRow] = {}
        self.members: dict[str, frozenset[str]] = {}

    def put(self, row: ServerGroupRow) -> None:
        self.by_id[row.id] = self.by_uuid[row.uuid] = row
        self.members[row.uuid] = frozenset(msgspec.json.decode(row.members))

    def remove(self, key: int) -> None:
        row = self.by_id.pop(key)
        del self.by_uuid[row.uuid], self.members[row.uuid]


class ServiceTable(FleetTable[ServiceRow]):
    """Services by host and binary."""

    def __init__(self) -> None:
        super().__init__()
        self.by_place: dict[tuple[str, str], ServiceRow] = {}
        self._compute_versions: dict[int, int] = {}

    @property
    def oldest_compute(self) -> int | None:
        """The lowest version of a nova-compute, 0 where one did not say; None: there
        is none. Costs no walk over the services."""
        return min(self._compute_versions, default=None)

    @property
    def versions(self) -> dict[str, int]:
        """Version of nova-compute -> how many have it; "": it was not told."""
        known = sorted(self._compute_versions.items())
        return {str(version or ""): count for version, count in known}

    def put(self, row: ServiceRow) -> None:
        old = self.by_id.get(row.id)
        if old is not None:
            self._count(old, -1)
        self._count(row, 1)
        self.by_id[row.id] = self.by_place[(row.host, row.binary)] = row

    def remove(self, key: int) -> ServiceRow:
        row = self.by_id.pop(key)
        del self.by_place[(row.host, row.binary)]
        self._count(row, -1)
        return row

    def _count(self, row: ServiceRow, times: int) -> None:
        if row.binary != COMPUTE:
            return
        version = row.version or 0
        left = self._compute_versions.get(version, 0) + times
        if left:
            self._compute_versions[version] = left
        else:
            del self._compute_versions[version]
