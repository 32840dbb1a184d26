"""The scheduler's part of the library, as a type.

``Gantt`` (in process) and ``RemoteGantt`` (over HTTP) both implement it; callers with
Nova's own forms of a request use ``gantt.client.SchedulerClient``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias

from gantt.model.advice import Advice, AdviceRequest
from gantt.model.artifacts import ArtifactRegister
from gantt.model.audit import GRACE_S, Audit, Finding, Kind
from gantt.model.capacity import By, FairSplit, Forecast, Prices
from gantt.model.demand import Demand, Item
from gantt.model.demand_queue import WaitingProtocol
from gantt.model.demand_relations import ItemRelation
from gantt.model.diagnosis import Relaxation
from gantt.model.fleet import FeedTurn, FleetRefusal, FleetStatement
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    InstanceView,
    ServerGroup,
    Service,
)
from gantt.model.needs import Needs
from gantt.model.placements import PlacedQuery, PlacedView, Plan
from gantt.model.relations import HostLabels, TopologyKey
from gantt.model.reports import Report, ReportOutcome
from gantt.model.selection import Capacity, Decision, Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.model.takeover import Takeover
from gantt.model.topology_view import HostTopologyView

_AGGREGATES, _SERVICES, _GROUPS = HostAggregateQuery(), ServiceQuery(), GroupQuery()
_INSTANCES, _PLACEMENTS = InstanceQuery(), PlacedQuery()
_NO_LABELS: Mapping[str, str | None] = MappingProxyType({})

Selections: TypeAlias = tuple[tuple[Selection, ...], ...]


class ReportService(Protocol):
    """What an agent asks of a scheduler."""

    def report_hosts(
        self, reports: Iterable[Report | bytes]
    ) -> tuple[ReportOutcome, ...]:
        """Take in reports of agents, in order, each by itself: what became of each. A
        report is a value, or its JSON text. Raises Invalid where there are too many."""

    def needs(self) -> Needs:
        """What hosts are to report, and which plug-in reads what of it."""


class SchedulerProtocol(ReportService, WaitingProtocol, ArtifactRegister, Protocol):
    """The scheduler of a fleet. Every method may raise ``errors.Unavailable``."""

    def schedule(self, request: ScheduleRequest) -> Selections:
        """Select and claim hosts: per instance, in order, its host and then its
        alternates.

        All instances are claimed at once, or none. Raises NoValidHost (with ``why``),
        Invalid (the message names the key).
        """

    def decide(
        self, request: ScheduleRequest, given_up: Sequence[Relaxation] = ()
    ) -> Decision:
        """The whole record of what ``schedule`` would do; nothing is claimed, and no
        valid host is an answer here. ``given_up``: constraints of ``request``, and
        filters, to do without, as ``Why.given_up`` has them. Raises Invalid."""

    def advise(self, request: AdviceRequest) -> Advice:
        """In which order to try the hosts of ``request``; nothing is claimed. What
        fails here is no error: the hosts come back in their own order, and ``why``."""

    def place(
        self,
        *parts: Item | ItemRelation,
        plan: str = "",
        project: str | None = None,
        lease_s: float | None = None,
        dry_run: bool = False,
        wait: float | str | None = None,
        priority: int = 0,
    ) -> Plan:
        """Book a place for each thing that is asked for, in one commit: all of them, or
        none. ``parts``: items, and relations of these (``spread``, ``distinct``,
        ``near``, ``apart``). ``plan``: while anything of a plan of this name lives, and
        ``plan_names_s`` longer, the same demand has the same answer. ``lease_s``: all
        of it ends after so many seconds unless it is confirmed. ``dry_run``: tell it,
        and book nothing. ``wait``: where there is no room now, wait for so long,
        ``"10m"`` or a number of seconds: those with a higher ``priority`` first, then
        the older ones.

        Raises NoValidHost, whose text says why; Invalid (the message names item and
        field); AlreadyClaimed: a name is taken; Conflict: the plan was placed for
        another demand; Busy: too many wait already."""

    def place_demand(self, demand: Demand) -> Plan:
        """See ``place``; all of it as one value."""

    def list_placements(
        self, query: PlacedQuery = _PLACEMENTS
    ) -> tuple[PlacedView, ...]:
        """What was placed by name, and has not been released."""

    def confirm_placement(
        self, name: str = "", *, plan: str = "", project: str | None = None
    ) -> None:
        """What was placed with a lease stays, with all that was placed together with
        it. ``name``: of one, or its uuid; or that of its ``plan``. Raises NotFound,
        ClaimExpired."""

    def release_placement(
        self, name: str = "", *, plan: str = "", project: str | None = None
    ) -> None:
        """Free what was placed: one of this ``name`` or uuid, or all of a ``plan``. It
        does not end what runs. Raises NotFound; Conflict: another writer changed some
        of it."""

    def confirm_claim(self, claim: str) -> None:
        """Make a leased claim permanent. Raises NotFound, ClaimExpired."""

    def release_claim(self, claim: str) -> None:
        """Release a claim, with all that it added. Raises NotFound; Conflict: another
        writer changed some of that, which would stay."""

    def capacity(self, spec: RequestSpec) -> Capacity:
        """How many more instances like ``spec`` fit, where, and what blocks more.
        Raises Invalid."""

    def named_flavors(self) -> tuple[Flavor, ...]:
        """The flavors to which the configuration gives a name (``usual_flavors``)."""

    def fair_split(
        self,
        specs: Sequence[RequestSpec],
        weights: Sequence[float] | None = None,
        *,
        by: By = "fleet",
    ) -> FairSplit:
        """How many more of several flavors fit together, each host counted once: in
        proportion to ``weights`` (default: alike) as far as they fit, and the rest to
        those that still do. ``by``: all hosts, or those of each zone or host aggregate
        by themselves. Raises Invalid."""

    def rule_prices(self, spec: RequestSpec) -> Prices:
        """How many more instances like ``spec`` would fit without each rule that
        applies to it: what it asks for, filters, and what inventories say."""

    def runs_out(
        self,
        specs: Sequence[RequestSpec] = (),
        *,
        by: By = "fleet",
        horizon_days: int = 30,
    ) -> Forecast:
        """When each resource class, and each of these flavors, runs out, from the usage
        history by hours: dates with a chance each. ``by``: of all hosts, or of those of
        each zone or host aggregate. Raises Invalid."""

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        """Records of decisions, the latest first, ``limit`` at most."""

    def audit(
        self,
        *,
        grace_s: float = GRACE_S,
        limit: int = 1000,
        kinds: Iterable[Kind] = (),
        host: str = "",
    ) -> Audit:
        """Where claims, inventories and what runs disagree. ``grace_s``: what is
        claimed for less may not run yet. ``kinds``: only findings of these, (): of
        all; ``host``: only those about it, "": about all. Raises Invalid."""

    def repair(
        self,
        finding: Finding,
        *,
        grace_s: float = GRACE_S,
        kinds: Iterable[Kind] = (),
    ) -> Finding:
        """Undo what was found, if it still holds; its record is among ``decisions``.
        One of ``host_gone`` only where ``kinds`` names that. Returns what was undone.
        Raises Conflict: it has changed, or cannot be repaired here; Invalid."""

    def adopt_host(
        self,
        host: str,
        new_host: str = "",
        *,
        node: str = "",
        new_node: str = "",
        uuid: str | None = None,
        dry_run: bool = False,
    ) -> Takeover:
        """The known ``host`` came back as ``new_host``, or reports ``uuid`` for its
        provider: it takes over what the known one had, in one commit; its record is
        among ``decisions``. ``node``, ``new_node``: where they are not the only ones,
        or not of the name of the host. ``dry_run``: tell it, and change nothing. Raises
        NotFound, Invalid, Conflict: both are up, or both have something."""

    def update_host(self, host: str, node: str | None, stats: HostStats) -> HostView:
        """Take in what a host reports. ``node`` None: the one that is known of the
        host, else of the same name. Raises Invalid."""

    def delete_host(self, host: str, node: str) -> None:
        """Delete the host; its provider stays, with the allocations of confirmed
        claims: releasing the claims frees them. Inventories and traits that its reports
        wrote go; what is in use stays, with nothing free. Raises NotFound."""

    def label_host(
        self, host: str, labels: Mapping[str, str | None] = _NO_LABELS
    ) -> HostLabels:
        """Give the host these labels, ``{"rack": "r7"}`` say, beside those that it has;
        None takes one away. All that it has then. Raises NotFound, Invalid."""

    def list_domains(self, *, key: str | None = None) -> tuple[TopologyKey, ...]:
        """Which topology keys there are (64 at most, by name), or that one, and how
        many hosts are in each domain. Raises Invalid: no host has the key."""

    def relate_group(self, uuid: str, relations: str) -> None:
        """Spread members of a server group, beside its policy: ``spread=rack:1:hard
        distinct=host:2 apart=rack:UUID``; "": no more. Raises Invalid."""

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        """Hosts, by name: all, or those of this name; () if there are none."""

    def host_topology(self, host: str, node: str) -> HostTopologyView:
        """Its NUMA cells and devices, and what of them is free. Raises NotFound."""

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        """Replace each of these aggregates, or add it. Raises Invalid."""

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        """Delete an aggregate by uuid, or by its id in Nova; an unknown one is no
        error."""

    def list_host_aggregates(
        self, query: HostAggregateQuery = _AGGREGATES
    ) -> tuple[HostAggregate, ...]:
        """Aggregates of hosts. Raises Invalid for a marker that is not known."""

    def list_services(self, query: ServiceQuery = _SERVICES) -> tuple[Service, ...]:
        """Services on hosts, and what Gantt keeps in the same way: agents, cells, an
        operator's disable of a host. Raises Invalid for a marker of another form."""

    def list_server_groups(
        self, query: GroupQuery = _GROUPS
    ) -> tuple[ServerGroup, ...]:
        """The server groups that were told of."""

    def list_instances(
        self, query: InstanceQuery = _INSTANCES
    ) -> tuple[InstanceView, ...]:
        """Instances that are claimed or that a host names; with ``uuid`` also one that
        only has allocations."""

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        """Add or update instances of the host. Raises Invalid."""

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        """Delete the instance; an unknown one is not an error."""

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        """Set all instances of the host; whether these were known already."""

    def update_service(self, service: Service) -> None:
        """Update a service, or add it. Raises Invalid."""

    def delete_service(self, host: str, binary: str = "nova-compute") -> None:
        """Delete a service; an unknown one is no error."""

    def set_fleet(self, statement: FleetStatement) -> tuple[FleetRefusal, ...]:
        """Take in all that ``statement`` says and is not known yet, part by part, so
        that other calls have their turn; the parts that were refused."""

    def feed_turn(
        self, holder: str = "", *, seen_holder: str = "", seen_beat: int | None = None
    ) -> FeedTurn:
        """Whose turn it is to feed the books, so that one of several feeds does. With
        ``seen_beat``, ``holder`` takes or keeps the turn ("": gives it up) if it is
        still as ``seen_holder`` and ``seen_beat`` say."""

    def set_server_group(self, group: ServerGroup) -> None:
        """Replace a server group, or add it. Raises Invalid."""

    def delete_server_group(self, uuid: str) -> None:
        """Delete a server group; an unknown one is no error."""
