"""Requested changes of the books, one frozen value each.

A command says what a caller wants and what must hold; the rule of the same name in
``gantt.placement.rules`` turns it into Changes or raises the refusal. Its base class
names the type of its answer, which is what ``submit`` returns.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType

from gantt.model.answers import (
    Claimed,
    Created,
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderTraits,
)
from gantt.model.answers import Inventory as Inventory  # for the users of commands
from gantt.model.audit import AuditTerms, Finding
from gantt.model.demand import Demand
from gantt.model.demand_queue import DemandState
from gantt.model.fleet import Move
from gantt.model.holding import Held
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.relations import DomainTerm, HostLabels
from gantt.model.reports import Report, ReportOutcome, ReportPlace
from gantt.model.request_identity import Booked, RequestIdentity
from gantt.model.rows import BookingRow
from gantt.model.spec import InstanceGroup
from gantt.model.takeover import Takeover
from gantt.model.topology import Wanted

A_co = TypeVar("A_co", covariant=True)


class Command(Struct, Generic[A_co], frozen=True):
    """A requested change that is answered with an ``A_co`` once it is durable."""


class CreateProvider(Command[Provider], frozen=True):
    """Add a provider, below ``parent_uuid`` or as a root."""

    uuid: str
    name: str
    parent_uuid: str | None = None


class UpdateProvider(Command[Provider], frozen=True):
    """Rename, and re-parent when ``parent_uuid`` is set (None: becomes a root).

    ``may_move`` lets a provider leave the parent it has (microversion 1.37).
    """

    uuid: str
    name: str
    parent_uuid: str | UnsetType | None = UNSET
    may_move: bool = True


class DeleteProvider(Command[None], frozen=True):
    """Refused while it has children or allocations."""

    uuid: str


class SetInventories(Command[ProviderInventories], frozen=True):
    """Replace all inventories of a provider.

    ``allow_full_reserve``: reserved may equal total (microversion 1.26).
    ``generation`` None skips the check.
    """

    provider_uuid: str
    inventories: dict[str, Inventory]
    generation: int | None = None
    allow_full_reserve: bool = True


class AddInventory(Command[ProviderInventories], frozen=True):
    """Add one class that the provider does not have yet. Answers with that class
    alone."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    allow_full_reserve: bool = True


class SetInventory(Command[ProviderInventories], frozen=True):
    """Change one class that the provider has. Answers with that class alone."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    generation: int | None = None
    allow_full_reserve: bool = True


class PutInventory(Command[ProviderInventories], frozen=True):
    """Add or change one class. Answers with that class alone."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    allow_full_reserve: bool = True


class DeleteInventory(Command[None], frozen=True):
    """Refused while any of it is allocated."""

    provider_uuid: str
    resource_class: str


class DeleteInventories(Command[None], frozen=True):
    """Refused while any of them is allocated."""

    provider_uuid: str


class SetAggregates(Command[ProviderAggregates], frozen=True):
    """Replace the aggregates of a provider.

    ``bump`` False leaves the generation alone (before microversion 1.19).
    """

    provider_uuid: str
    aggregates: tuple[str, ...]
    generation: int | None = None
    bump: bool = True


class SetTraits(Command[ProviderTraits], frozen=True):
    """Replace the traits of a provider."""

    provider_uuid: str
    traits: tuple[str, ...]
    generation: int | None = None


class DeleteTraits(Command[None], frozen=True):
    """Remove all traits from a provider."""

    provider_uuid: str


class CreateTrait(Command[Created], frozen=True):
    """Add a custom trait; an existing one is no error."""

    name: str


class DeleteTrait(Command[None], frozen=True):
    """Refused for a standard trait, and while a provider has it."""

    name: str


class CreateResourceClass(Command[Created], frozen=True):
    """Add a custom class. ``must_be_new``: an existing one is a Conflict."""

    name: str
    must_be_new: bool = False


class RenameResourceClass(Command[None], frozen=True):
    """Refused for a standard class."""

    name: str
    new_name: str


class DeleteResourceClass(Command[None], frozen=True):
    """Refused for a standard class, and while a provider has inventory of it."""

    name: str


class SyncNames(Command[None], frozen=True):
    """Add the standard names that are missing; none is ever removed.

    The position of a class in ``resource_classes`` is its id.
    """

    resource_classes: tuple[str, ...]
    traits: tuple[str, ...]


class ConsumerAllocations(Struct, frozen=True):
    """The complete allocations of a consumer; empty means none.

    ``allocations``: provider uuid -> resource class -> amount. ``generation`` UNSET: no
    check (before microversion 1.28); None: must be new. ``consumer_type`` UNSET: keep
    the current one (before microversion 1.38).
    """

    consumer_uuid: str
    allocations: dict[str, dict[str, int]]
    project_id: str
    user_id: str
    generation: int | UnsetType | None = UNSET
    consumer_type: str | UnsetType = UNSET


class SetAllocations(Command[None], frozen=True):
    """Replace the allocations of all named consumers, or of none."""

    consumers: tuple[ConsumerAllocations, ...]


class DeleteAllocations(Command[None], frozen=True):
    """Refused for a consumer without allocations."""

    consumer_uuid: str


class ReshapedProvider(Struct, frozen=True):
    """The inventories of a provider after a reshape."""

    provider_uuid: str
    generation: int
    inventories: dict[str, Inventory]


class Reshape(Command[None], frozen=True):
    """Move inventories and allocations between providers at once."""

    providers: tuple[ReshapedProvider, ...]
    consumers: tuple[ConsumerAllocations, ...]


class UpdateHost(Command[HostView], frozen=True):
    """A host's report; nothing changes when nothing is new.

    Writes the host, its provider (made when it is missing: ``new_provider_uuid``), the
    inventory classes and traits that reports own. ``initial_ratios``: (cpu, ram, disk)
    where Nova reports the host without; of others it is 1.0. ``writes_books`` False:
    the host alone is written; a remote Placement has its provider, under the uuid that
    the host reports.
    ``renewed_after_us``: a report without changes is written nevertheless when the last
    one is so old (None: never). ``is_bare``: the report names no node: it is of the one
    that is known of the host, else of ``node``. ``takes_uuid``: where another host has
    this provider, it has moved here with all claims; else that is refused.
    ``saved_at``: when the host wrote the report, in microseconds; None: just now.
    ``unreadable``: as in HostReport.
    ``place``: which report of the host's agent this is; None: of no agent, or without
    changes. ``listed_at``: when that agent saw all that runs; None: it did not.
    ``is_of_agent``: an agent says so, also that nothing changed.
    """

    host: str
    node: str
    stats: HostStats
    new_provider_uuid: str
    reserved: dict[str, int] = {}
    initial_ratios: tuple[float, float, float] = (4.0, 1.0, 1.0)
    writes_books: bool = True
    renewed_after_us: int | None = None
    is_bare: bool = False
    takes_uuid: bool = False
    saved_at: int | None = None
    unreadable: dict[str, str] = {}
    place: ReportPlace | None = None
    listed_at: int | None = None
    is_of_agent: bool = False


class NameLimits(Struct, frozen=True):
    """``traits``: that reports of one host may bring into being; ``instances``: that
    may be known on it by them; ``artifacts``: that it may hold by one."""

    traits: int = 1_000
    instances: int = 10_000
    artifacts: int = 256


NAME_LIMITS: Final = NameLimits()


class ReportHost(Command[ReportOutcome], frozen=True):
    """A report of a host's agent, applied where all before it were.

    ``update``: the same as a command, without its ``place``; ``needs``: the digest of
    what is needed now ("": any will do). ``own_only``: it came with the token of its
    host, which may not report what is another's. Raises FullReportWanted, BadReport,
    TooManyNames, Forbidden, and what UpdateHost raises.
    """

    report: Report
    update: UpdateHost
    needs: str = ""
    own_only: bool = False
    most: NameLimits = NAME_LIMITS


class DeleteHost(Command[None], frozen=True):
    """Delete a host; its provider stays, with the allocations of confirmed claims.
    What its reports wrote there goes; of a class in use nothing stays free."""

    host: str
    node: str


class SetHostAggregates(Command[None], frozen=True):
    """Each aggregate as it is from now on; with ``writes_books`` providers of its hosts
    join or leave the aggregate of the same uuid in the books."""

    aggregates: tuple[HostAggregate, ...]
    writes_books: bool = True


class DeleteHostAggregate(Command[None], frozen=True):
    """``uuid`` or ``number`` (its id in Nova); an unknown one is no error."""

    uuid: str | None = None
    number: int | None = None
    writes_books: bool = True


class UpdateInstances(Command[None], frozen=True):
    """``host`` names these instances, among others. ``keeps_facts``: one that tells no
    facts, or only whose it is, keeps the others that are known."""

    host: str
    instances: tuple[Instance, ...]
    keeps_facts: bool = False


class DeleteInstance(Command[None], frozen=True):
    """``host`` no longer has it; an unknown one is no error."""

    host: str
    instance_uuid: str


class SyncInstances(Command[bool], frozen=True):
    """``host`` has exactly these instances. Answers whether that was known already."""

    host: str
    instance_uuids: tuple[str, ...]


class SetMoves(Command[None], frozen=True):
    """These, and no other, are on their way from or to the host, by its cell."""

    host: str
    moves: tuple[Move, ...]


class UpdateService(Command[None], frozen=True):
    """Update what is known of a service."""

    service: Service


class DeleteService(Command[None], frozen=True):
    """Delete a service; an unknown one is no error."""

    host: str
    binary: str


class LabelHost(Command[HostLabels], frozen=True):
    """Give the host these labels, beside those that it has; None takes one away. Raises
    NotFound, Invalid."""

    host: str
    labels: dict[str, str | None]


class RelateGroup(Command[None], frozen=True):
    """Spread the members of a server group as ``relations`` say from now on; "": as
    its policy alone says."""

    uuid: str
    relations: str


class SetArtifact(Command[None], frozen=True):
    """Register it, of ``most``; None: remove it. Raises Invalid, NotFound."""

    name: str
    size: int | None
    most: int = 0


class SetServerGroup(Command[None], frozen=True):
    """Replace a server group, or add it."""

    group: ServerGroup


class DeleteServerGroup(Command[None], frozen=True):
    """Delete a server group; an unknown one is no error."""

    uuid: str


class Choice(Struct, frozen=True):
    """One place for an instance. ``allocations``: provider uuid -> class -> amount;
    empty where there is no inventory and the claim alone stands for the amounts.
    ``providers``: those of devices by request group, if devices are in the books.
    ``mappings``: as in a Candidate, remembered with the claim."""

    host_id: int
    allocations: dict[str, dict[str, int]]
    providers: dict[str, tuple[str, ...]] = {}
    mappings: dict[str, tuple[str, ...]] = {}


class InstanceClaim(Struct, frozen=True):
    """``choices``: the first that holds is taken. ``held``: what a remote Placement
    has for the instance already. ``booked``: what it is called in a demand in plain
    words; None: it is of another request."""

    instance_uuid: str
    choices: tuple[Choice, ...]
    held: Held | None = None
    booked: Booked | None = None


class Claim(Command[Claimed], frozen=True):
    """Hosts for all instances of a request, or for none.

    The committer checks amounts (the books' where a choice has allocations; else what
    the host has, times its ratios), the rules of ``group`` and, per choice, that the
    host is still there. ``only_project``: instances that have allocations or a claim
    already must be of this project; None: of any. ``leased_for_us``: the claim ends
    after so many microseconds unless confirmed.
    ``is_remote``: a remote Placement checks amounts and stores the allocations of
    choices; here they are recorded with the claim, which must be leased until they are
    written there. ``asks_service``: the host must not be disabled or forced down.
    ``wanted``: cells and devices that each instance must find free on its host (None:
    none; not ``must_fit``: it is promised none where it does not fit), the fullest
    cells first if it ``packs``. ``domains``: relations by topology keys that all
    instances must keep, counted with the members of ``group``, if there is one, as they
    are then. ``identity``: which request this is; an instance that has a claim of the
    same keeps it. ``not_with``: consumers that must not be on its hosts.
    ``max_starts``: so many bookings of a host may be unconfirmed at once where its
    label says nothing else, 0: any number; None: it starts nothing.
    ``artifacts``: what they bring to their hosts. Raises ClaimLost, Forbidden,
    AlreadyClaimed.
    """

    claim: str
    instances: tuple[InstanceClaim, ...]
    vcpus: int
    memory_mb: int
    disk_mb: int
    project_id: str
    user_id: str
    group: InstanceGroup | None = None
    leased_for_us: int | None = None
    is_remote: bool = False
    asks_service: bool = True
    only_project: str | None = None
    wanted: Wanted | None = None
    packs: bool = False
    must_fit: bool = True
    identity: RequestIdentity = RequestIdentity(replaces=True)
    not_with: frozenset[str] = frozenset()
    domains: tuple[DomainTerm, ...] = ()
    max_starts: int | None = None
    artifacts: tuple[str, ...] = ()


class Book(Command[tuple[Claimed, ...]], frozen=True):
    """What a demand in plain words asks for, all of it or nothing: a claim for each of
    its items, all of one name. What it asks for must be new: raises Conflict
    (of its plan), AlreadyClaimed, and what Claim raises. ``demand``: the uuid of the
    one that waits, which ends with it; ``shape``: demands of the same that wait with
    this ``priority`` or a higher one come first (raises Queued); "": none does."""

    claims: tuple[Claim, ...]
    demand: str = ""
    shape: str = ""
    priority: int = 0


class AwaitRoom(Command[str], frozen=True):
    """The demand waits from now on, for its ``wait_s``; its uuid. ``shape``: as in
    DemandEntry. Raises Busy: ``most`` wait already; Conflict: another one waits under
    the name of its plan."""

    uuid: str
    demand: Demand
    shape: str
    most: int


class EndDemand(Command[None], frozen=True):
    """The demand, which waits, ends so. Raises NotFound, Conflict."""

    uuid: str
    state: DemandState
    said: str = ""


class SweepDemands(Command[int], frozen=True):
    """End those whose time is over, and forget those that ended ``keep_us`` ago; how
    many that were."""

    keep_us: int
    limit: int = 1_000


class Unbook(Command[None], frozen=True):
    """Release all that these consumers have, or nothing. Raises NotFound, Conflict."""

    consumers: tuple[str, ...]


class ConfirmClaim(Command[None], frozen=True):
    """Make the claim permanent; with ``leased_for_us`` lease it again instead, for so
    many microseconds from now. Raises NotFound, ClaimExpired."""

    claim: str
    leased_for_us: int | None = None


class ReleaseClaim(Command[None], frozen=True):
    """The claim ends, with its allocations unless another writer has changed them; what
    a remote Placement holds is to be removed there before the claim is dropped.
    ``placed``: of a claim that was not returned, its instances and the generations of
    their consumers: where a host and so a part of the claim is gone, what that part
    added is removed too. ``instance_uuids``: only their parts of the claim end (None:
    all of it). Raises NotFound, without ``placed``."""

    claim: str
    placed: tuple[tuple[str, int | None], ...] = ()
    instance_uuids: frozenset[str] | None = None


class DropClaim(Command[None], frozen=True):
    """A remote Placement holds nothing for the claim, or no longer does: delete it,
    for these instances alone (None: for all), unless it was
    confirmed."""

    claim: str
    instance_uuids: frozenset[str] | None = None


class SettleClaims(Command[tuple[BookingRow, ...]], frozen=True):
    """Assign claims that have ended (``claim`` alone, or all of them), at most
    ``limit``, to the caller, which removes what they hold elsewhere within ``for_us``;
    until then no other caller gets them."""

    for_us: int
    claim: str | None = None
    limit: int = 1000


class ExpireClaims(Command[int], frozen=True):
    """Release claims whose lease has ended, at most ``limit``. Answers how many. Plans
    are forgotten ``plan_names_us`` after the last of what they placed has ended."""

    limit: int = 1000
    grace_us: int = 0
    plan_names_us: int = 86_400_000_000


class TurnToBooks(Command[bool], frozen=True):
    """From now on inventory decides amounts, as soon as every enabled host has some.
    Claims from before get the allocations that they lack. Answers whether the books
    decide."""


class Repair(Command[Finding], frozen=True):
    """Undo what the audit found, if it still holds. Answers what was undone. Raises
    Conflict: it does not hold any more, or cannot be repaired here."""

    finding: Finding
    terms: AuditTerms


class AdoptHost(Command[Takeover], frozen=True):
    """A known host came back as ``new_host`` and ``new_node`` ("": as it was called;
    ``node`` "": its only one), or reports ``new_uuid``: what the known one had is its
    own from now on. ``down_us``: how long ago it must have been seen. ``writes_books``
    False: the provider stays as it is. Raises NotFound; Invalid (it is the same);
    Conflict (both are up, or both have something)."""

    host: str
    node: str
    new_host: str
    new_node: str
    new_uuid: str | None
    down_us: int
    writes_books: bool = True
