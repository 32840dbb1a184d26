"""Every operation of Gantt's own API, in one table.

Routes, the OpenAPI document, policy rules and, for the methods of ``Library``, the HTTP
client are made of these rows. What does more for its caller than to call the method of
its ``name`` has a handler in ``gantt/api/native/operation_table.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from msgspec.structs import replace

from gantt.model import operation_bodies as b
from gantt.model.advice_operations import ADVICE_OPERATIONS
from gantt.model.answers import Report
from gantt.model.audit import Audit, Finding
from gantt.model.capacity import FairSplit, Forecast, Prices
from gantt.model.demand import Item, demand_of
from gantt.model.demand_queue import MAX_POLL_S, seconds_of
from gantt.model.demand_relations import ItemRelation
from gantt.model.diagnosis import Diagnosis
from gantt.model.domain_operations import DOMAIN_OPERATIONS
from gantt.model.fleet import FeedTurn, FleetStatement
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)
from gantt.model.fleet_map import FleetMap
from gantt.model.hosts import HostAggregate, HostPage, HostView
from gantt.model.needs import Needs
from gantt.model.operation import Operation
from gantt.model.place_operations import PLACE_OPERATIONS
from gantt.model.placements import Plan
from gantt.model.protocol import GanttProtocol
from gantt.model.recent import Recent, RecentQuery
from gantt.model.scheduling import SchedulerProtocol
from gantt.model.selection import Capacity, Decision, DecisionPage
from gantt.model.takeover import Takeover
from gantt.model.topology_view import HostTopologyView
from gantt.model.watching import Event, Events
from gantt.model.whole_host import WholeHost

P = ParamSpec("P")
T = TypeVar("T")

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "table_describe",
        "GET /gantt/openapi.json",
        "This document; no authentication required.",
        answer=dict[str, Any],
    ),
    Operation(
        "diagnosis_explain",
        "GET /gantt/candidates/explain",
        "Explain why GET /allocation_candidates with the same query is empty.",
        rule="placement:allocation_candidates:list",
        query=dict[str, str],
        answer=Diagnosis,
        work="search",
    ),
    Operation(
        "verification_verify",
        "GET /gantt/verify",
        "Compare the columns of the process that answers with its tables.",
        rule="gantt:verify",
        answer=Report,
        work="count",
        name="verify",
    ),
    Operation(
        "watch_watch",
        "GET /gantt/watch",
        "Changes, revision by revision: as server-sent events with an Event as data, "
        "or, with wait, as JSON.",
        rule="gantt:watch",
        query=b.WatchQuery,
        answer=Events,
        event=Event,
        errors=(410,),
    ),
    Operation(
        "snapshot_snapshot",
        "GET /gantt/snapshot",
        "All rows of the books and the fleet at one revision, and the policy, as the "
        "lines of a record (JSON arrays, with MIME type application/x-ndjson): for "
        "questions asked of a copy.",
        rule="gantt:snapshot",
        answer=list[str],
    ),
    Operation(
        "audit_report",
        "GET /gantt/audit",
        "Where claims, inventories and what hosts report disagree.",
        rule="gantt:audit",
        query=b.AuditQuery,
        answer=Audit,
        work="count",
    ),
    Operation(
        "audit_repair",
        "POST /gantt/audit/repairs",
        "Undo what the audit found, if it still holds; returns what was undone, as "
        "its record among the decisions does.",
        rule="gantt:audit:repair",
        body=b.RepairBody,
        answer=Finding,
        errors=(409,),
        name="repair",
    ),
    Operation(
        "select_select",
        "POST /gantt/select",
        "Select hosts and claim resources on them; with dry_run, only return the "
        "decision. Requests for other projects, or that name their instances or "
        "server groups, require gantt:claims:any, and those that name hosts "
        "gantt:hosts:choose.",
        rule="gantt:select",
        body=b.SelectBody,
        answer=b.Selected | Decision,
        errors=(409,),
        work="search",
    ),
    *PLACE_OPERATIONS,
    *ADVICE_OPERATIONS,
    Operation(
        "claims_confirm",
        "POST /gantt/claims/{claim}/confirm",
        "Make a claim permanent: its lease no longer expires. Claims of other "
        "projects require gantt:claims:any.",
        rule="gantt:claims:confirm",
        errors=(409,),
        name="confirm_claim",
    ),
    Operation(
        "claims_release",
        "DELETE /gantt/claims/{claim}",
        "Release a claim and its resources: 409 where another writer changed some of "
        "these, which would stay. Claims of other projects require gantt:claims:any.",
        rule="gantt:claims:release",
        permissions=("gantt:claims:any", "gantt:decisions:whole"),
        errors=(404, 409),
        name="release_claim",
    ),
    Operation(
        "decisions_list",
        "GET /gantt/decisions",
        "Records of decisions, latest first; those of other projects, and names of "
        "hosts, require gantt:decisions:whole.",
        rule="gantt:decisions:list",
        query=b.DecisionsQuery,
        answer=DecisionPage,
        work="list",
        narrow=("request_id", "instance_uuid"),
        name="decisions",
    ),
    Operation(
        "capacity_count",
        "POST /gantt/capacity",
        "How many more instances like this fit, where, and what limits them; names of"
        " hosts require gantt:decisions:whole, in the request gantt:hosts:choose.",
        rule="gantt:capacity",
        body=b.CapacityBody,
        answer=Capacity,
        work="count",
        name="capacity",
    ),
    Operation(
        "capacity_flavors",
        "GET /gantt/flavors",
        "The flavors to which the configuration gives a name (usual_flavors).",
        rule="gantt:capacity",
        answer=b.NamedFlavors,
        name="named_flavors",
    ),
    Operation(
        "capacity_fair",
        "POST /gantt/capacity/fair",
        "How many more of several flavors fit together, each host counted once, and "
        "what limits each; names of hosts and aggregates require "
        "gantt:decisions:whole.",
        rule="gantt:capacity",
        body=b.FairBody,
        answer=FairSplit,
        work="count",
        name="fair_split",
    ),
    Operation(
        "capacity_prices",
        "POST /gantt/capacity/prices",
        "How many more instances like this would fit without each rule that applies; "
        "filters, options and inventories require gantt:decisions:whole.",
        rule="gantt:capacity",
        body=b.CapacityBody,
        answer=Prices,
        work="count",
        name="rule_prices",
    ),
    Operation(
        "capacity_runs_out",
        "POST /gantt/capacity/runs-out",
        "When each resource class, and each flavor that is asked for, runs out: dates"
        " with a chance each, from the usage history.",
        rule="gantt:usage_history",
        body=b.RunsOutBody,
        answer=Forecast,
        work="count",
        name="runs_out",
    ),
    Operation(
        "usage_history_list",
        "GET /gantt/usage-history",
        "Capacity and usage of each resource class by completed period, oldest first;"
        " beyond limit only the latest.",
        rule="gantt:usage_history",
        query=b.UsageHistoryQuery,
        answer=b.UsageHistory,
        work="list",
        name="usage_history",
    ),
    Operation(
        "hosts_list",
        "GET /gantt/hosts",
        "A page of hosts, by name; or of those of one name.",
        rule="gantt:hosts:list",
        query=b.HostsQuery,
        answer=HostPage,
        work="list",
        narrow=("host", "node"),
        name="list_hosts",
        page="host_page",
    ),
    Operation(
        "fleet_show",
        "GET /gantt/fleet",
        "All hosts as columns, for a map; with after, those that changed since.",
        rule="gantt:hosts:list",
        query=b.FleetQuery,
        answer=FleetMap,
        work="list",
        narrow=("after",),
        is_long=True,
        name="fleet_map",
    ),
    Operation(
        "recent_show",
        "GET /gantt/recent",
        "Which hosts take no requests, since when and by whom, and what changed within"
        " the last hour or another time: services, aggregates, refusals by reason.",
        rule="gantt:recent",
        query=RecentQuery,
        answer=Recent,
        work="count",
        name="recent",
    ),
    Operation(
        "hosts_show",
        "GET /gantt/hosts/{host}/{node}",
        "One host.",
        rule="gantt:hosts:show",
        answer=HostView,
        errors=(404,),
    ),
    Operation(
        "hosts_topology",
        "GET /gantt/hosts/{host}/{node}/topology",
        "The NUMA cells and devices of a host, and what of them is free.",
        rule="gantt:hosts:show",
        answer=HostTopologyView,
        errors=(404,),
        name="host_topology",
    ),
    Operation(
        "hosts_whole",
        "GET /gantt/host",
        "One host in full, whatever its name: its report, cells and devices, tree of "
        "providers, consumers, and pending claims with their leases.",
        rule="gantt:hosts:show",
        query=b.HostQuery,
        answer=WholeHost,
        errors=(404,),
        name="whole_host",
    ),
    Operation(
        "hosts_update",
        "PUT /gantt/hosts/{host}/{node}",
        "Store a host report; omitted fields keep their values.",
        rule="gantt:hosts:update",
        body=b.ReportForm,
        answer=HostView,
    ),
    Operation(
        "hosts_delete",
        "DELETE /gantt/hosts/{host}/{node}",
        "Delete a host; its provider stays, with the allocations of confirmed claims:"
        " releasing the claims frees them.",
        rule="gantt:hosts:delete",
        errors=(404,),
        name="delete_host",
    ),
    Operation(
        "hosts_adopt",
        "POST /gantt/takeovers",
        "A known host came back under another name or uuid: it takes over what it "
        "had; returns what moved, or with dry_run what would.",
        rule="gantt:hosts:adopt",
        permissions=("gantt:hosts:choose", "gantt:reports:any"),
        body=b.TakeoverBody,
        answer=Takeover,
        errors=(404, 409),
        name="adopt_host",
    ),
    *DOMAIN_OPERATIONS,
    Operation(
        "reports_needs",
        "GET /gantt/needs",
        "What agents are to report, and which filter or weigher reads what of it.",
        rule="gantt:needs",
        answer=Needs,
        name="needs",
    ),
    Operation(
        "reports_take_in",
        "POST /gantt/reports",
        "Take in reports of agents, in order; each is applied or refused by itself.",
        rule="gantt:reports:create",
        body=b.ReportsBody,
        answer=b.Outcomes,
    ),
    Operation(
        "aggregates_list",
        "GET /gantt/aggregates",
        "A page of host aggregates, by name.",
        rule="gantt:aggregates:list",
        query=HostAggregateQuery,
        answer=b.Aggregates,
        work="list",
        name="list_host_aggregates",
        page="host_aggregate_page",
        is_whole=True,
    ),
    Operation(
        "aggregates_show",
        "GET /gantt/aggregates/{uuid}",
        "One host aggregate.",
        rule="gantt:aggregates:show",
        answer=HostAggregate,
        errors=(404,),
    ),
    Operation(
        "aggregates_update_all",
        "PUT /gantt/aggregates",
        "Replace each of these aggregates; others are kept.",
        rule="gantt:aggregates:update",
        body=b.AggregatesBody,
        name="set_host_aggregates",
    ),
    Operation(
        "aggregates_update",
        "PUT /gantt/aggregates/{uuid}",
        "Create or replace the aggregate.",
        rule="gantt:aggregates:update",
        body=b.AggregateForm,
    ),
    Operation(
        "aggregates_delete_one_of",
        "DELETE /gantt/aggregates",
        "Delete an aggregate by its uuid or its id in Nova.",
        rule="gantt:aggregates:delete",
        query=b.AggregateQuery,
        name="delete_host_aggregate",
    ),
    Operation(
        "aggregates_delete",
        "DELETE /gantt/aggregates/{uuid}",
        "Delete the aggregate; an unknown one is not an error.",
        rule="gantt:aggregates:delete",
    ),
    Operation(
        "instances_update",
        "POST /gantt/instances/{host}",
        "Add or update these instances of the host.",
        rule="gantt:instances:update",
        body=b.InstancesBody,
        name="update_instances",
    ),
    Operation(
        "instances_list",
        "GET /gantt/instances",
        "A page of instances, by uuid: claimed ones, and those that a host names; those"
        " of other projects, and hosts, require gantt:decisions:whole.",
        rule="gantt:instances:list",
        permissions=("gantt:instances:names", "gantt:decisions:whole"),
        query=InstanceQuery,
        answer=b.Instances,
        work="list",
        narrow=("uuid", "claim"),
        name="list_instances",
        page="instance_page",
        is_whole=True,
    ),
    Operation(
        "instances_sync",
        "PUT /gantt/instances/{host}",
        "Set the host's instances; answers whether nothing had to change.",
        rule="gantt:instances:sync",
        body=b.SyncBody,
        answer=b.Synced,
        name="sync_instances",
    ),
    Operation(
        "instances_delete",
        "DELETE /gantt/instances/{host}/{uuid}",
        "Delete the instance; an unknown one is not an error.",
        rule="gantt:instances:delete",
        name="delete_instance",
    ),
    Operation(
        "services_list",
        "GET /gantt/services",
        "A page of services, by host, then binary.",
        rule="gantt:services:list",
        query=ServiceQuery,
        answer=b.Services,
        work="list",
        name="list_services",
        page="service_page",
        is_whole=True,
    ),
    Operation(
        "services_update",
        "PUT /gantt/services",
        "Update a service; omitted fields keep their values.",
        rule="gantt:services:update",
        body=b.ServiceForm,
        name="update_service",
        is_whole=True,
    ),
    Operation(
        "services_delete",
        "DELETE /gantt/services/{host}/{binary}",
        "Delete the service; an unknown one is not an error.",
        rule="gantt:services:delete",
        name="delete_service",
    ),
    Operation(
        "fleet_update",
        "PUT /gantt/fleet",
        "Take in a statement about many hosts, services, aggregates, groups and "
        "instances; what is already known is not written again.",
        rule="gantt:fleet:update",
        body=FleetStatement,
        answer=b.Refused,
        name="set_fleet",
        is_whole=True,
    ),
    Operation(
        "fleet_turn",
        "POST /gantt/fleet/turn",
        "Ask whose turn it is to feed the books, or take or keep the turn.",
        rule="gantt:fleet:update",
        body=b.FeedTurnBody,
        answer=FeedTurn,
        name="feed_turn",
    ),
    Operation(
        "server_groups_list",
        "GET /gantt/server_groups",
        "A page of server groups, by uuid.",
        rule="gantt:server_groups:list",
        query=GroupQuery,
        answer=b.ServerGroups,
        work="list",
        name="list_server_groups",
        page="server_group_page",
        is_whole=True,
    ),
    Operation(
        "server_groups_update",
        "PUT /gantt/server_groups/{uuid}",
        "Create or replace the server group.",
        rule="gantt:server_groups:update",
        body=b.ServerGroupForm,
        name="set_server_group",
        is_whole=True,
    ),
    Operation(
        "server_groups_delete",
        "DELETE /gantt/server_groups/{uuid}",
        "Delete the server group; an unknown one is not an error.",
        rule="gantt:server_groups:delete",
        name="delete_server_group",
    ),
)

NAMED: Final = {one.name: one for one in OPERATIONS if one.name}


def _row(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Library, P], T]:
    """``method`` of the library, by the row that has its name."""
    one = NAMED[method.__name__]

    @wraps(method)
    def perform(library: Library, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = library._perform(one, args, kwargs)
        return answer

    return perform


class Library:
    """The methods of the library for which their row is enough: ``Gantt`` calls the
    part that has one, ``RemoteGantt`` sends what it is given as the row says."""

    def _perform(self, one: Operation, args: Any, kwargs: Any) -> Any:
        """The answer of the method ``one.name`` to these arguments."""
        raise NotImplementedError

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
        """See SchedulerProtocol."""
        demand = demand_of(parts, plan, project, lease_s, dry_run)
        wait_s = None if wait is None else seconds_of(wait)
        demand = replace(demand, wait_s=wait_s, priority=priority)
        return self.await_plan(self.place_demand(demand))

    def await_plan(self, plan: Plan) -> Plan:
        """See SchedulerProtocol."""
        while plan.demand:
            found = self.show_demand(plan.demand, wait_s=MAX_POLL_S)
            if found.state != "waiting":
                return found.answer
        return plan

    place_demand = _row(SchedulerProtocol.place_demand)
    list_placements = _row(SchedulerProtocol.list_placements)
    confirm_placement = _row(SchedulerProtocol.confirm_placement)
    release_placement = _row(SchedulerProtocol.release_placement)
    list_demands = _row(SchedulerProtocol.list_demands)
    show_demand = _row(SchedulerProtocol.show_demand)
    cancel_demand = _row(SchedulerProtocol.cancel_demand)
    advise = _row(SchedulerProtocol.advise)
    confirm_claim = _row(SchedulerProtocol.confirm_claim)
    release_claim = _row(SchedulerProtocol.release_claim)
    capacity = _row(SchedulerProtocol.capacity)
    fair_split = _row(SchedulerProtocol.fair_split)
    rule_prices = _row(SchedulerProtocol.rule_prices)
    runs_out = _row(SchedulerProtocol.runs_out)
    named_flavors = _row(SchedulerProtocol.named_flavors)
    decisions = _row(SchedulerProtocol.decisions)
    repair = _row(SchedulerProtocol.repair)
    adopt_host = _row(SchedulerProtocol.adopt_host)
    needs = _row(SchedulerProtocol.needs)
    delete_host = _row(SchedulerProtocol.delete_host)
    list_hosts = _row(SchedulerProtocol.list_hosts)
    host_topology = _row(SchedulerProtocol.host_topology)
    set_host_aggregates = _row(SchedulerProtocol.set_host_aggregates)
    delete_host_aggregate = _row(SchedulerProtocol.delete_host_aggregate)
    list_host_aggregates = _row(SchedulerProtocol.list_host_aggregates)
    list_services = _row(SchedulerProtocol.list_services)
    list_server_groups = _row(SchedulerProtocol.list_server_groups)
    list_instances = _row(SchedulerProtocol.list_instances)
    update_instances = _row(SchedulerProtocol.update_instances)
    sync_instances = _row(SchedulerProtocol.sync_instances)
    delete_instance = _row(SchedulerProtocol.delete_instance)
    label_host = _row(SchedulerProtocol.label_host)
    list_domains = _row(SchedulerProtocol.list_domains)
    relate_group = _row(SchedulerProtocol.relate_group)
    list_artifacts = _row(SchedulerProtocol.list_artifacts)
    register_artifact = _row(SchedulerProtocol.register_artifact)
    remove_artifact = _row(SchedulerProtocol.remove_artifact)
    update_service = _row(SchedulerProtocol.update_service)
    delete_service = _row(SchedulerProtocol.delete_service)
    set_server_group = _row(SchedulerProtocol.set_server_group)
    feed_turn = _row(SchedulerProtocol.feed_turn)
    delete_server_group = _row(SchedulerProtocol.delete_server_group)
    shadow_event = _row(GanttProtocol.shadow_event)
    shadow_records = _row(GanttProtocol.shadow_records)
    shadow_report = _row(GanttProtocol.shadow_report)
    usage_history = _row(GanttProtocol.usage_history)
    verify = _row(GanttProtocol.verify)
