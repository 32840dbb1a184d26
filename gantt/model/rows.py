"""The rows of the tables, one frozen value each: Placement's, then Gantt's.

Rows are what Changes carry, what the store writes and what the columns take in. Times
are microseconds since the epoch in UTC, or None where the database has NULL.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

PROVIDERS = "resource_providers"
INVENTORIES = "inventories"
ALLOCATIONS = "allocations"
CONSUMERS = "consumers"
PROJECTS = "projects"
USERS = "users"
CONSUMER_TYPES = "consumer_types"
RESOURCE_CLASSES = "resource_classes"
TRAITS = "traits"
AGGREGATES = "placement_aggregates"
PROVIDER_TRAITS = "resource_provider_traits"
PROVIDER_AGGREGATES = "resource_provider_aggregates"
HOSTS = "gantt_hosts"
SERVICES = "gantt_services"
FACTS = "gantt_facts"
HOST_AGGREGATES = "gantt_host_aggregates"
INSTANCES = "gantt_instances"
SERVER_GROUPS = "gantt_server_groups"
BOOKINGS = "gantt_bookings"

OVER = 0
"""``leased_until`` of a claim that ended and still has remote allocations."""
NO_HOST = 0
"""``host_id`` of a claim whose host was deleted. No host has this id: the id of a
deleted host may be used again."""
TARGET, SOURCE, PLAN = "target", "source", "plan"
"""``role`` of a booking: where its consumer is to be, or what it left behind; or it is
a plan, whose uuid is no consumer's, though one may be claimed under it."""


class ProviderRow(Struct, frozen=True, array_like=True):
    """One resource provider. A root's ``root_provider_id`` is its own id."""

    id: int
    uuid: str
    name: str
    generation: int
    root_provider_id: int
    parent_provider_id: int | None
    created_at: int | None
    updated_at: int | None


class InventoryRow(Struct, frozen=True, array_like=True):
    """What one provider has of one resource class."""

    id: int
    resource_provider_id: int
    resource_class_id: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float
    created_at: int | None
    updated_at: int | None

    @property
    def has_reports_units(self) -> bool:
        """Whether any amount up to all of it may be taken, as reports of hosts say."""
        return self.max_unit == self.total and self.min_unit == self.step_size == 1


class AllocationRow(Struct, frozen=True, array_like=True):
    """What one consumer uses of one class on one provider.

    ``consumer_id`` is the consumer's uuid, as in Placement's schema.
    """

    id: int
    resource_provider_id: int
    consumer_id: str
    resource_class_id: int
    used: int
    created_at: int | None
    updated_at: int | None


class ConsumerRow(Struct, frozen=True, array_like=True):
    """A user of resources; exists as long as it has allocations."""

    id: int
    uuid: str
    project_id: int
    user_id: int
    generation: int
    consumer_type_id: int | None
    created_at: int | None
    updated_at: int | None


class NameRow(Struct, frozen=True, array_like=True):
    """A name with an id: class, trait, consumer type, project, user or aggregate."""

    id: int
    name: str
    created_at: int | None
    updated_at: int | None


class LinkRow(Struct, frozen=True, array_like=True):
    """A provider has a trait, or is a member of an aggregate."""

    resource_provider_id: int
    label_id: int
    created_at: int | None
    updated_at: int | None


class HostRow(Struct, frozen=True, array_like=True):
    """What one compute node reported. ``stats``: JSON text of the fields of
    ``model.hosts.HostStats`` that are known."""

    id: int
    host: str
    node: str
    uuid: str | None
    stats: str
    created_at: int | None
    updated_at: int | None


class ServiceRow(Struct, frozen=True, array_like=True):
    """A service on a host; ``last_seen_up`` in microseconds, UTC. ``disabled_reason``
    None: none was given."""

    id: int
    host: str
    binary: str
    disabled: bool
    forced_down: bool
    last_seen_up: int | None
    availability_zone: str | None
    cell_uuid: str | None
    version: int | None
    created_at: int | None
    updated_at: int | None
    disabled_reason: str | None = None


class FactRow(Struct, frozen=True, array_like=True):
    """What is known of the fleet that is no service: ``kind``, of ``subject``.

    ``cell``, by its uuid: ``disabled``, ``away`` while it is unreadable, read ``at``;
    created when the readings began that have gone on since, and updated when the last
    of them was told of. ``agent``, by its host: ``away`` while it is no member of the
    group. ``operator``: the word on a host, which is ``disabled`` for a ``reason``.
    ``liveness``: the group itself, ``away`` while its members are not known.
    ``switch``, of nothing: the books decide amounts, for good. ``labels``, of a host,
    and ``relations``, of a server group by its uuid: in ``reason``, as
    ``gantt.model.fleet`` has them. ``demand``, by its uuid: waits for room until
    ``at``, ``disabled`` once it has ended; all of it is in ``reason``, as JSON text
    (``gantt.model.demand_queue``). ``at``: microseconds, UTC.
    """

    id: int
    kind: str
    subject: str
    disabled: bool
    away: bool
    at: int | None
    reason: str | None
    created_at: int | None
    updated_at: int | None


class HostAggregateRow(Struct, frozen=True, array_like=True):
    """Nova's aggregate of hosts. ``number``: its id in Nova; ``hosts``: JSON text of
    the sorted list; ``metadata``: JSON text."""

    id: int
    uuid: str
    name: str
    number: int | None
    hosts: str
    metadata: str
    created_at: int | None
    updated_at: int | None


GROUP: Final = "_group"
"""The key among the facts of an instance that hosts do not report: the group is known
only from its claim, which ended when the host named it."""


ARTIFACTS: Final = "_artifacts"
"""The key beside it, of the artifacts that its claim named."""


class InstanceRow(Struct, frozen=True, array_like=True):
    """An instance that its host names. ``facts``: JSON text of the host's facts, and
    under ``GROUP`` and ``ARTIFACTS`` what only its claim knew."""

    id: int
    uuid: str
    host: str
    facts: str
    created_at: int | None
    updated_at: int | None


class ServerGroupRow(Struct, frozen=True, array_like=True):
    """``members``: JSON text of the sorted list of instance uuids."""

    id: int
    uuid: str
    name: str
    policy: str | None
    max_server_per_host: int
    members: str
    created_at: int | None
    updated_at: int | None


class _Held(Struct):
    """What of the text ``topology`` rows ask for."""

    held_by: str | None = None


class BookingRow(Struct, frozen=True, array_like=True):
    """What a consumer is promised: mostly the claim of an instance with a host selected
    for it, until the host itself reports it.

    ``claim`` is shared by all instances of one request. ``leased_until``: it ends then
    unless it is confirmed (microseconds; None: it was). ``consumer_generation``: of
    its allocations when they were made; None: it made none. ``remote``: what a remote
    Placement holds for it, as JSON text (``model.holding``); None: nothing.
    ``host_id`` NO_HOST: the host was deleted after the claim was confirmed; what it
    allocated is still there to be released. ``topology``: what of the host's NUMA cells
    and devices is promised, as text (``topology.promised_topology``); None: nothing.
    ``counted_at``: when the host named the instance, in microseconds: a report saved
    later counts what was promised; None: it has not yet. ``answered``: the request that
    it answers, as text (``model.request_identity``); None: it is not known.
    ``role``: TARGET, SOURCE of what is ``held_by`` another, or PLAN.

    What was asked for in plain words has a ``name``, that of its ``item``, and the
    ``plan`` and ``digest`` of its demand, by ``project``. It is remembered as long as
    something of that name lives, with "" as ``claim`` once that has ended. So is the
    plan itself, whose booking has no ``name``: ``answered`` is its answer, and
    ``ends_at`` until when it is known after the last booking of its name (None: some
    live). ``starts_at``, ``released`` and ``labels`` are None.
    """

    id: int
    claim: str
    instance_uuid: str
    host_id: int
    vcpus: int
    memory_mb: int
    disk_mb: int
    group_uuid: str | None
    leased_until: int | None
    consumer_generation: int | None
    remote: str | None
    created_at: int | None
    updated_at: int | None
    # After the times: fields of rows in the log are only appended.
    topology: str | None = None
    counted_at: int | None = None
    answered: str | None = None
    item: str = ""
    role: str = TARGET
    name: str = ""
    project: str = ""
    plan: str = ""
    digest: str = ""
    starts_at: int | None = None
    ends_at: int | None = None
    released: str | None = None
    labels: str | None = None

    @property
    def is_claim(self) -> bool:
        """Whether it is of a claim; else only what it is called is known."""
        return bool(self.claim)

    @property
    def is_starting(self) -> bool:
        """Whether it was neither confirmed nor named by its host yet."""
        if self.counted_at is not None or self.leased_until == OVER:
            return False
        return self.leased_until is not None or self.updated_at is None

    @property
    def is_running(self) -> bool:
        """Whether its host reports the instance and its amounts; what is left of it are
        the CPUs, cells and devices that it names."""
        return self.topology is not None and '"is_running":true' in self.topology

    @property
    def is_counted(self) -> bool:
        """Whether the last report of its host contains what it promises of cells and
        devices, as its numbers say: the claim takes nothing of them."""
        return self.topology is not None and '"is_counted":true' in self.topology

    @property
    def is_reported(self) -> bool:
        """Whether its host names the instance, and its report contains it."""
        if self.topology is None:
            return False
        is_there = self.is_counted and self.counted_at is not None
        return is_there or self.is_running

    @property
    def held_by(self) -> str | None:
        """The consumer whose allocations on the host keep what is promised, where the
        instance has gone on with another claim; None: this is the instance's own."""
        if self.topology is None or '"held_by":"' not in self.topology:
            return None
        return msgspec.json.decode(self.topology, type=_Held).held_by

    @property
    def is_over(self) -> bool:
        """Whether it has ended here and its remote allocations must be removed: it can
        no longer be confirmed."""
        return self.remote is not None and self.leased_until == OVER

    @property
    def is_open(self) -> bool:
        """Whether its remote allocations are being written or removed: the process that
        does so ends it."""
        if self.remote is None or self.leased_until is None:
            return False
        return self.is_over or self.updated_at is None


BookRow: TypeAlias = (
    ProviderRow | InventoryRow | AllocationRow | ConsumerRow | NameRow | LinkRow
)
FleetRow: TypeAlias = (
    HostRow
    | ServiceRow
    | FactRow
    | HostAggregateRow
    | InstanceRow
    | ServerGroupRow
    | BookingRow
)
Row: TypeAlias = BookRow | FleetRow
Key: TypeAlias = int | tuple[int, int]

# Parents before children: the order in which rows can be inserted one table at a time.
ROW_TYPES: dict[str, type[Row]] = {
    RESOURCE_CLASSES: NameRow,
    TRAITS: NameRow,
    AGGREGATES: NameRow,
    PROJECTS: NameRow,
    USERS: NameRow,
    CONSUMER_TYPES: NameRow,
    PROVIDERS: ProviderRow,
    CONSUMERS: ConsumerRow,
    INVENTORIES: InventoryRow,
    ALLOCATIONS: AllocationRow,
    PROVIDER_TRAITS: LinkRow,
    PROVIDER_AGGREGATES: LinkRow,
    SERVICES: ServiceRow,
    FACTS: FactRow,
    HOSTS: HostRow,
    HOST_AGGREGATES: HostAggregateRow,
    INSTANCES: InstanceRow,
    SERVER_GROUPS: ServerGroupRow,
    BOOKINGS: BookingRow,
}
FLEET = frozenset(
    {HOSTS, SERVICES, FACTS, HOST_AGGREGATES, INSTANCES, SERVER_GROUPS, BOOKINGS}
)
"""The tables of the fleet, besides Placement's own."""


def key_of(row: Row) -> Key:
    """The key under which a row is known within its table."""
    if isinstance(row, LinkRow):
        return (row.resource_provider_id, row.label_id)
    return row.id
