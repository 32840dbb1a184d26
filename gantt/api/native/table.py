"""Every operation of the native API, in one table.

The router, the OpenAPI document and the tests of both use it.
"""

from __future__ import annotations

import functools
from typing import Any

from gantt.api.advise.external import EXTERNAL
from gantt.api.call import Call
from gantt.api.native import (
    advise,
    aggregates,
    audit,
    capacity,
    claims,
    decisions,
    fleet,
    hosts,
    instances,
    openapi,
    reports,
    select,
    server_groups,
    services,
    shadow,
    usage_history,
)
from gantt.api.native.bodies import (
    AdviseBody,
    AggregateForm,
    AggregateQuery,
    AggregatesBody,
    CapacityBody,
    DecisionsQuery,
    FairBody,
    HostsQuery,
    InstancesBody,
    ReportForm,
    ReportsBody,
    RunsOutBody,
    SelectBody,
    ServerGroupForm,
    ServiceForm,
    SyncBody,
)
from gantt.api.native.operation import Operation
from gantt.model.fleet import FleetStatement
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)

_CLAIM = "/gantt/claims/{claim}"
_HOST = "/gantt/hosts/{host}/{node}"
_AGGREGATES = "/gantt/aggregates"
_AGGREGATE = f"{_AGGREGATES}/{{uuid}}"
_INSTANCES = "/gantt/instances/{host}"
_SERVER_GROUP = "/gantt/server_groups/{uuid}"


def describe(_call: Call) -> dict[str, Any]:
    """GET /gantt/openapi.json"""
    return _description()


@functools.cache
def _description() -> dict[str, Any]:
    return openapi.document(OPERATIONS)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/gantt/openapi.json",
        describe,
        "This document; no authentication required.",
    ),
    Operation(
        "POST",
        "/gantt/select",
        select.select,
        "Select hosts and claim resources on them; with dry_run, "
        "only return the decision. Requests for other projects, or "
        "that name their instances or server groups, require "
        "gantt:claims:any, and those that name hosts "
        "gantt:hosts:choose.",
        rule="gantt:select",
        body=SelectBody,
        errors=(409,),
    ),
    Operation(
        "POST",
        "/gantt/advise",
        advise.advise,
        "The hosts that were sent, in the order in which to try them, and what refuses "
        "the last ones; nothing is claimed. No token is needed from the networks of "
        "advice_from.",
        rule="gantt:advise",
        body=AdviseBody,
    ),
    *EXTERNAL,
    Operation(
        "POST",
        f"{_CLAIM}/confirm",
        claims.confirm,
        "Make a claim permanent: its lease no longer expires. Claims "
        "of other projects require gantt:claims:any.",
        rule="gantt:claims:confirm",
        errors=(409,),
    ),
    Operation(
        "DELETE",
        _CLAIM,
        claims.release,
        "Release a claim and its resources: 409 where another writer changed some of "
        "these, which would stay. Claims of other projects require gantt:claims:any.",
        rule="gantt:claims:release",
        errors=(404, 409),
    ),
    Operation(
        "GET",
        "/gantt/decisions",
        decisions.list_,
        "Records of decisions, latest first; those of other "
        "projects, and names of hosts, require gantt:decisions:whole.",
        rule="gantt:decisions:list",
        query=DecisionsQuery,
    ),
    Operation(
        "POST",
        "/gantt/capacity",
        capacity.count,
        "How many more instances like this fit, where, and what "
        "limits them; names of hosts require gantt:decisions:whole, "
        "in the request gantt:hosts:choose.",
        rule="gantt:capacity",
        body=CapacityBody,
    ),
    Operation(
        "GET",
        "/gantt/flavors",
        capacity.flavors,
        "The flavors to which the configuration gives a name (usual_flavors).",
        rule="gantt:capacity",
    ),
    Operation(
        "POST",
        "/gantt/capacity/fair",
        capacity.fair,
        "How many more of several flavors fit together, each host counted once, and "
        "what limits each; names of hosts and aggregates require "
        "gantt:decisions:whole.",
        rule="gantt:capacity",
        body=FairBody,
    ),
    Operation(
        "POST",
        "/gantt/capacity/prices",
        capacity.prices,
        "How many more instances like this would fit without each rule that applies; "
        "filters, options and inventories require gantt:decisions:whole.",
        rule="gantt:capacity",
        body=CapacityBody,
    ),
    Operation(
        "POST",
        "/gantt/capacity/runs-out",
        capacity.runs_out,
        "When each resource class, and each flavor that is asked for, runs out: dates "
        "with a chance each, from the usage history.",
        rule="gantt:usage_history",
        body=RunsOutBody,
    ),
    Operation(
        "GET",
        "/gantt/usage-history",
        usage_history.list_,
        "Capacity and usage of each resource class by completed "
        "period, oldest first; beyond limit only the latest.",
        rule="gantt:usage_history",
        query=usage_history.UsageHistoryQuery,
    ),
    Operation(
        "GET",
        "/gantt/audit",
        audit.report,
        "Where claims, inventories and what hosts report disagree.",
        rule="gantt:audit",
        query=audit.AuditQuery,
    ),
    Operation(
        "POST",
        "/gantt/audit/repairs",
        audit.repair,
        "Undo what the audit found, if it still holds; returns what was undone, as its "
        "record among the decisions does.",
        rule="gantt:audit:repair",
        body=audit.RepairBody,
        errors=(409,),
    ),
    Operation(
        "POST",
        "/gantt/takeovers",
        hosts.adopt,
        "A known host came back under another name or uuid: it takes over what it had; "
        "returns what moved, or with dry_run what would.",
        rule="gantt:hosts:adopt",
        body=hosts.TakeoverBody,
        errors=(404, 409),
    ),
    Operation(
        "POST",
        "/gantt/shadow/events",
        shadow.observe,
        "Nova begins to select hosts, or has selected them: decide beside it, and "
        "compare with what it claims.",
        rule="gantt:shadow:observe",
        body=shadow.ShadowBody,
    ),
    Operation(
        "GET",
        "/gantt/shadow/records",
        shadow.list_,
        "What Gantt decided and what Nova then claimed, latest first.",
        rule="gantt:shadow:read",
        query=shadow.ShadowRecordsQuery,
    ),
    Operation(
        "GET",
        "/gantt/shadow/report",
        shadow.report,
        "How far Gantt and Nova agree, where they differ and why, and what a switch "
        "would change.",
        rule="gantt:shadow:read",
        query=shadow.ShadowTimes,
    ),
    Operation(
        "GET",
        "/gantt/hosts",
        hosts.list_,
        "A page of hosts, by name; or of those of one name.",
        rule="gantt:hosts:list",
        query=HostsQuery,
    ),
    Operation(
        "GET",
        _HOST,
        hosts.show,
        "One host.",
        rule="gantt:hosts:show",
        errors=(404,),
    ),
    Operation(
        "GET",
        f"{_HOST}/topology",
        hosts.topology,
        "The NUMA cells and devices of a host, and what of them is free.",
        rule="gantt:hosts:show",
        errors=(404,),
    ),
    Operation(
        "GET",
        "/gantt/host",
        hosts.whole,
        "One host in full, whatever its name: its report, cells and devices, tree of "
        "providers, consumers, and pending claims with their leases.",
        rule="gantt:hosts:show",
        query=hosts.HostQuery,
        errors=(404,),
    ),
    Operation(
        "PUT",
        _HOST,
        hosts.update,
        "Store a host report; omitted fields keep their values.",
        rule="gantt:hosts:update",
        body=ReportForm,
    ),
    Operation(
        "DELETE",
        _HOST,
        hosts.delete,
        "Delete a host; its provider stays, with the allocations of "
        "confirmed claims: releasing the claims frees them.",
        rule="gantt:hosts:delete",
        errors=(404,),
    ),
    Operation(
        "GET",
        "/gantt/needs",
        reports.needs,
        "What agents are to report, and which filter or weigher reads what of it.",
        rule="gantt:needs",
    ),
    Operation(
        "POST",
        "/gantt/reports",
        reports.take_in,
        "Take in reports of agents, in order; each is applied or refused by itself.",
        rule="gantt:reports:create",
        body=ReportsBody,
    ),
    Operation(
        "GET",
        _AGGREGATES,
        aggregates.list_,
        "A page of host aggregates, by name.",
        rule="gantt:aggregates:list",
        query=HostAggregateQuery,
    ),
    Operation(
        "PUT",
        _AGGREGATES,
        aggregates.update_all,
        "Replace each of these aggregates; others are kept.",
        rule="gantt:aggregates:update",
        body=AggregatesBody,
    ),
    Operation(
        "DELETE",
        _AGGREGATES,
        aggregates.delete_one_of,
        "Delete an aggregate by its uuid or its id in Nova.",
        rule="gantt:aggregates:delete",
        query=AggregateQuery,
    ),
    Operation(
        "GET",
        _AGGREGATE,
        aggregates.show,
        "One host aggregate.",
        rule="gantt:aggregates:show",
        errors=(404,),
    ),
    Operation(
        "PUT",
        _AGGREGATE,
        aggregates.update,
        "Create or replace the aggregate.",
        rule="gantt:aggregates:update",
        body=AggregateForm,
    ),
    Operation(
        "DELETE",
        _AGGREGATE,
        aggregates.delete,
        "Delete the aggregate; an unknown one is not an error.",
        rule="gantt:aggregates:delete",
    ),
    Operation(
        "GET",
        "/gantt/instances",
        instances.list_,
        "A page of instances, by uuid: those claimed, and those that a host names.",
        rule="gantt:instances:list",
        query=InstanceQuery,
    ),
    Operation(
        "POST",
        _INSTANCES,
        instances.update,
        "Add or update these instances of the host.",
        rule="gantt:instances:update",
        body=InstancesBody,
    ),
    Operation(
        "PUT",
        _INSTANCES,
        instances.sync,
        "Set the host's instances; answers whether nothing had to change.",
        rule="gantt:instances:sync",
        body=SyncBody,
    ),
    Operation(
        "DELETE",
        f"{_INSTANCES}/{{uuid}}",
        instances.delete,
        "Delete the instance; an unknown one is not an error.",
        rule="gantt:instances:delete",
    ),
    Operation(
        "GET",
        "/gantt/services",
        services.list_,
        "A page of services, by host, then binary.",
        rule="gantt:services:list",
        query=ServiceQuery,
    ),
    Operation(
        "PUT",
        "/gantt/services",
        services.update,
        "Update a service; omitted fields keep their values.",
        rule="gantt:services:update",
        body=ServiceForm,
    ),
    Operation(
        "DELETE",
        "/gantt/services/{host}/{binary}",
        services.delete,
        "Delete the service; an unknown one is not an error.",
        rule="gantt:services:delete",
    ),
    Operation(
        "GET",
        "/gantt/fleet",
        fleet.show,
        "All hosts as columns, for a map; with after, those that changed since.",
        rule="gantt:hosts:list",
        query=fleet.FleetQuery,
        is_long=True,
    ),
    Operation(
        "PUT",
        "/gantt/fleet",
        fleet.update,
        "Take in a statement about many hosts, services, aggregates, groups and "
        "instances; what is already known is not written again.",
        rule="gantt:fleet:update",
        body=FleetStatement,
    ),
    Operation(
        "GET",
        "/gantt/server_groups",
        server_groups.list_,
        "A page of server groups, by uuid.",
        rule="gantt:server_groups:list",
        query=GroupQuery,
    ),
    Operation(
        "PUT",
        _SERVER_GROUP,
        server_groups.update,
        "Create or replace the server group.",
        rule="gantt:server_groups:update",
        body=ServerGroupForm,
    ),
    Operation(
        "DELETE",
        _SERVER_GROUP,
        server_groups.delete,
        "Delete the server group; an unknown one is not an error.",
        rule="gantt:server_groups:delete",
    ),
)
