"""Wishes to change the books, one frozen value each.

A command says what a caller wants and what must hold; the rule of the same name in
``gantt.placement.rules`` turns it into Changes or raises the refusal.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from gantt.model.holding import Held
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.names import MAX_INT
from gantt.model.spec import InstanceGroup


class Inventory(Struct, frozen=True):
    """Amounts of one resource class; capacity = (total - reserved) * ratio."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0


class CreateProvider(Struct, frozen=True):
    """Answer: Provider."""

    uuid: str
    name: str
    parent_uuid: str | None = None


class UpdateProvider(Struct, frozen=True):
    """Rename, and re-parent when ``parent_uuid`` is set (None: becomes a root).

    ``may_move`` lets a provider leave the parent it has (microversion 1.37).
    Answer: Provider.
    """

    uuid: str
    name: str
    parent_uuid: str | UnsetType | None = UNSET
    may_move: bool = True


class DeleteProvider(Struct, frozen=True):
    """Answer: None."""

    uuid: str


class SetInventories(Struct, frozen=True):
    """Replace all inventories of a provider.

    ``allow_full_reserve``: reserved may equal total (microversion 1.26).
    ``generation`` None skips the check. Answer: ProviderInventories.
    """

    provider_uuid: str
    inventories: dict[str, Inventory]
    generation: int | None = None
    allow_full_reserve: bool = True


class AddInventory(Struct, frozen=True):
    """Add one class that the provider does not have yet. Answer: ProviderInventories
    with that class alone."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    allow_full_reserve: bool = True


class SetInventory(Struct, frozen=True):
    """Change one class that the provider has. Answer as AddInventory."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    generation: int | None = None
    allow_full_reserve: bool = True


class PutInventory(Struct, frozen=True):
    """Add one class or change it, whichever it takes. Answer as AddInventory."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    allow_full_reserve: bool = True


class DeleteInventory(Struct, frozen=True):
    """Answer: None."""

    provider_uuid: str
    resource_class: str


class DeleteInventories(Struct, frozen=True):
    """Answer: None."""

    provider_uuid: str


class SetAggregates(Struct, frozen=True):
    """Replace the aggregates of a provider.

    ``bump`` False leaves the generation alone (before microversion 1.19).
    Answer: ProviderAggregates.
    """

    provider_uuid: str
    aggregates: tuple[str, ...]
    generation: int | None = None
    bump: bool = True


class SetTraits(Struct, frozen=True):
    """Replace the traits of a provider. Answer: ProviderTraits."""

    provider_uuid: str
    traits: tuple[str, ...]
    generation: int | None = None


class DeleteTraits(Struct, frozen=True):
    """Take all traits from a provider. Answer: None."""

    provider_uuid: str


class CreateTrait(Struct, frozen=True):
    """Answer: Created (existing or not)."""

    name: str


class DeleteTrait(Struct, frozen=True):
    """Answer: None."""

    name: str


class CreateResourceClass(Struct, frozen=True):
    """Answer: Created. ``must_be_new``: an existing one is a Conflict."""

    name: str
    must_be_new: bool = False


class RenameResourceClass(Struct, frozen=True):
    """Answer: None."""

    name: str
    new_name: str


class DeleteResourceClass(Struct, frozen=True):
    """Answer: None."""

    name: str


class SyncNames(Struct, frozen=True):
    """Add the standard names that are missing; none is ever removed. Answer: None.

    The position of a class in ``resource_classes`` is its id.
    """

    resource_classes: tuple[str, ...]
    traits: tuple[str, ...]


class ConsumerAllocations(Struct, frozen=True):
    """All that one consumer shall use from now on; empty means nothing.

    ``allocations``: provider uuid -> resource class -> amount.
    ``generation`` UNSET: no check (before microversion 1.28); None: must be new.
    ``consumer_type`` UNSET: keep what is known (before microversion 1.38).
    """

    consumer_uuid: str
    allocations: dict[str, dict[str, int]]
    project_id: str
    user_id: str
    generation: int | UnsetType | None = UNSET
    consumer_type: str | UnsetType = UNSET


class SetAllocations(Struct, frozen=True):
    """Replace the allocations of all named consumers, or of none. Answer: None."""

    consumers: tuple[ConsumerAllocations, ...]


class DeleteAllocations(Struct, frozen=True):
    """Answer: None."""

    consumer_uuid: str


class ReshapedProvider(Struct, frozen=True):
    """The inventories a provider shall have after a reshape."""

    provider_uuid: str
    generation: int
    inventories: dict[str, Inventory]


class Reshape(Struct, frozen=True):
    """Move inventories and allocations between providers at once. Answer: None."""

    providers: tuple[ReshapedProvider, ...]
    consumers: tuple[ConsumerAllocations, ...]


class UpdateHost(Struct, frozen=True):
    """What a host reports; nothing changes when nothing is new.

    Writes the host, its provider (made when it is missing: ``new_provider_uuid``), the
    inventory classes and traits that reports own. ``initial_ratios``: (cpu, ram, disk)
    where the report has none. ``writes_books`` False: the host alone is written; a
    remote Placement has its provider, under the uuid that the host reports.
    ``renewed_after_us``: a report that says nothing new is written down all the same
    when the last one is so old (None: never). Answer: HostView.
    """

    host: str
    node: str
    stats: HostStats
    new_provider_uuid: str
    reserved: dict[str, int] = {}
    initial_ratios: tuple[float, float, float] = (4.0, 1.0, 1.0)
    writes_books: bool = True
    renewed_after_us: int | None = None


class DeleteHost(Struct, frozen=True):
    """Delete a host; its provider stays, with the allocations of confirmed claims.
    Answer: None."""

    host: str
    node: str


class SetHostAggregates(Struct, frozen=True):
    """Each aggregate as it is from now on; providers of its hosts join or leave the
    aggregate of the same uuid in the books. Answer: None."""

    aggregates: tuple[HostAggregate, ...]


class DeleteHostAggregate(Struct, frozen=True):
    """``uuid`` or ``number`` (its id in Nova). Answer: None."""

    uuid: str | None = None
    number: int | None = None


class UpdateInstances(Struct, frozen=True):
    """``host`` names these instances, among others. Answer: None."""

    host: str
    instances: tuple[Instance, ...]


class DeleteInstance(Struct, frozen=True):
    """Answer: None, also when nothing was known of it."""

    host: str
    instance_uuid: str


class SyncInstances(Struct, frozen=True):
    """``host`` has exactly these instances. Answer: bool, whether that was known."""

    host: str
    instance_uuids: tuple[str, ...]


class UpdateService(Struct, frozen=True):
    """Answer: None."""

    service: Service


class SetServerGroup(Struct, frozen=True):
    """Answer: None."""

    group: ServerGroup


class DeleteServerGroup(Struct, frozen=True):
    """Answer: None."""

    uuid: str


class Choice(Struct, frozen=True):
    """One place for an instance. ``allocations``: provider uuid -> class -> amount;
    empty where there is no inventory and the claim alone stands for the amounts."""

    host_id: int
    allocations: dict[str, dict[str, int]]


class InstanceClaim(Struct, frozen=True):
    """``choices``: the first that holds is taken. ``held``: what a remote Placement
    has for the instance already."""

    instance_uuid: str
    choices: tuple[Choice, ...]
    held: Held | None = None


class Claim(Struct, frozen=True):
    """Hosts for all instances of a request, or for none.

    What must hold is judged at the committer: amounts (the books' where a choice has
    allocations; else what the host has, times ``ratios`` (cpu, ram, disk) where the
    host reports none), the rules of ``group`` and, per choice, that the host is still
    there. ``only_project``: whose instances may be claimed that have allocations or a
    claim already; None: anybody's. ``leased_for_us``: the claim ends after so many
    microseconds unless it is confirmed. ``is_remote``: a remote Placement judges
    amounts and keeps the choices' allocations; here they are remembered with the
    claim, which must be leased until they were written there. ``asks_service``:
    the host must not be disabled or forced down. Answer: Claimed. Raises ClaimLost,
    Forbidden.
    """

    claim: str
    instances: tuple[InstanceClaim, ...]
    vcpus: int
    memory_mb: int
    disk_mb: int
    project_id: str
    user_id: str
    group: InstanceGroup | None = None
    ratios: tuple[float, float, float] = (4.0, 1.0, 1.0)
    leased_for_us: int | None = None
    is_remote: bool = False
    asks_service: bool = True
    only_project: str | None = None


class ConfirmClaim(Struct, frozen=True):
    """Make the claim permanent; with ``leased_for_us`` lease it again instead, for so
    many microseconds from now. Answer: None. Raises NotFound, ClaimExpired."""

    claim: str
    leased_for_us: int | None = None


class ReleaseClaim(Struct, frozen=True):
    """The claim ends, with its allocations where nobody else wrote them since; what a
    remote Placement holds is to be given back there before the claim is dropped.
    ``placed``: instances of a claim that nobody was told of, and the generations of
    their consumers: those whose part of it is gone, as their host is, give back what
    it added, too. Answer: None. Raises NotFound, without ``placed``."""

    claim: str
    placed: tuple[tuple[str, int | None], ...] = ()


class DropClaim(Struct, frozen=True):
    """A remote Placement holds nothing for the claim, or no longer does: delete it,
    for these instances alone (None: for all), unless it was confirmed.
    Answer: None."""

    claim: str
    instance_uuids: frozenset[str] | None = None


class SettleClaims(Struct, frozen=True):
    """Assign claims that have ended (``claim`` alone, or all of them), at most
    ``limit``, to the caller, which removes what they hold elsewhere within ``for_us``;
    until then no other caller gets them. Answer: tuple of ClaimRow."""

    for_us: int
    claim: str | None = None
    limit: int = 1000


class ExpireClaims(Struct, frozen=True):
    """Release whatever leases have ended, at most ``limit``. Answer: int, how many."""

    limit: int = 1000
    grace_us: int = 0


class TurnToBooks(Struct, frozen=True):
    """From now on inventory decides amounts, as soon as every enabled host has some.
    Claims from before get the allocations that they lack. Answer: bool, whether the
    books decide."""


Command: TypeAlias = (
    CreateProvider
    | UpdateProvider
    | DeleteProvider
    | SetInventories
    | AddInventory
    | SetInventory
    | PutInventory
    | DeleteInventory
    | DeleteInventories
    | SetAggregates
    | SetTraits
    | DeleteTraits
    | CreateTrait
    | DeleteTrait
    | CreateResourceClass
    | RenameResourceClass
    | DeleteResourceClass
    | SyncNames
    | SetAllocations
    | DeleteAllocations
    | Reshape
    | UpdateHost
    | DeleteHost
    | SetHostAggregates
    | DeleteHostAggregate
    | UpdateInstances
    | DeleteInstance
    | SyncInstances
    | UpdateService
    | SetServerGroup
    | DeleteServerGroup
    | Claim
    | ConfirmClaim
    | ReleaseClaim
    | DropClaim
    | SettleClaims
    | ExpireClaims
    | TurnToBooks
)
