"""Every operation of the native API, in one table.

The router, the OpenAPI document and the tests of both are made from it.
"""

from __future__ import annotations

import functools
from typing import Any

from gantt.api.call import Call
from gantt.api.native import (
    aggregates,
    capacity,
    claims,
    decisions,
    hosts,
    instances,
    openapi,
    select,
    server_groups,
    services,
    usage_history,
)
from gantt.api.native.bodies import (
    AggregateForm,
    AggregateQuery,
    AggregatesBody,
    CapacityBody,
    DecisionsQuery,
    HostsQuery,
    InstancesBody,
    ReportForm,
    SelectBody,
    ServerGroupForm,
    ServiceForm,
    SyncBody,
)
from gantt.api.native.operation import Operation
from gantt.model.hosts import HostAggregate, HostView
from gantt.model.selection import Capacity, Decision

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
        "This document; it needs no token.",
        answer=dict[str, Any],
    ),
    Operation(
        "POST",
        "/gantt/select",
        select.select,
        "Pick hosts and claim them; with dry_run, tell how it would be decided. "
        "Requests for other projects, and for their instances, need "
        "gantt:claims:any.",
        rule="gantt:select",
        body=SelectBody,
        answer=select.Selected | Decision,
        errors=(409,),
    ),
    Operation(
        "POST",
        f"{_CLAIM}/confirm",
        claims.confirm,
        "End the lease of a claim: it stays. Claims of other projects need "
        "gantt:claims:any.",
        rule="gantt:claims:confirm",
        errors=(409,),
    ),
    Operation(
        "DELETE",
        _CLAIM,
        claims.release,
        "Give back what was claimed. Claims of other projects need gantt:claims:any.",
        rule="gantt:claims:release",
        errors=(404,),
    ),
    Operation(
        "GET",
        "/gantt/decisions",
        decisions.list_,
        "Records of decisions, the latest first; those of other projects, and names "
        "of hosts, need gantt:decisions:whole.",
        rule="gantt:decisions:list",
        query=DecisionsQuery,
        answer=decisions.Decisions,
    ),
    Operation(
        "POST",
        "/gantt/capacity",
        capacity.count,
        "How many more instances like this fit, where, and what blocks more; names of "
        "hosts need gantt:decisions:whole.",
        rule="gantt:capacity",
        body=CapacityBody,
        answer=Capacity,
    ),
    Operation(
        "GET",
        "/gantt/usage-history",
        usage_history.list_,
        "What there was of each resource class and what of it was used, by periods "
        "that are over, oldest first; of more than limit the latest.",
        rule="gantt:usage_history",
        query=usage_history.UsageHistoryQuery,
        answer=usage_history.UsageHistory,
    ),
    Operation(
        "GET",
        "/gantt/hosts",
        hosts.list_,
        "Hosts as they are known, by name.",
        rule="gantt:hosts:list",
        query=HostsQuery,
        answer=hosts.Hosts,
    ),
    Operation(
        "GET",
        _HOST,
        hosts.show,
        "A host as it is known.",
        rule="gantt:hosts:show",
        answer=HostView,
        errors=(404,),
    ),
    Operation(
        "PUT",
        _HOST,
        hosts.update,
        "Take in what a host reports; what is left out stays as it is.",
        rule="gantt:hosts:update",
        body=ReportForm,
        answer=HostView,
    ),
    Operation(
        "DELETE",
        _HOST,
        hosts.delete,
        "The host is gone; its provider stays, with the allocations of confirmed "
        "claims: releasing them gives those back.",
        rule="gantt:hosts:delete",
        errors=(404,),
    ),
    Operation(
        "GET",
        _AGGREGATES,
        aggregates.list_,
        "Aggregates of hosts, by name.",
        rule="gantt:aggregates:list",
        answer=aggregates.Aggregates,
    ),
    Operation(
        "PUT",
        _AGGREGATES,
        aggregates.update_all,
        "Each of these aggregates as it is from now on; others stay.",
        rule="gantt:aggregates:update",
        body=AggregatesBody,
    ),
    Operation(
        "DELETE",
        _AGGREGATES,
        aggregates.delete_one_of,
        "An aggregate is gone, by its uuid or its id in Nova.",
        rule="gantt:aggregates:delete",
        query=AggregateQuery,
    ),
    Operation(
        "GET",
        _AGGREGATE,
        aggregates.show,
        "An aggregate of hosts.",
        rule="gantt:aggregates:show",
        answer=HostAggregate,
        errors=(404,),
    ),
    Operation(
        "PUT",
        _AGGREGATE,
        aggregates.update,
        "The aggregate as it is from now on.",
        rule="gantt:aggregates:update",
        body=AggregateForm,
    ),
    Operation(
        "DELETE",
        _AGGREGATE,
        aggregates.delete,
        "The aggregate is gone; not known is no error.",
        rule="gantt:aggregates:delete",
    ),
    Operation(
        "POST",
        _INSTANCES,
        instances.update,
        "The host names these instances, among others.",
        rule="gantt:instances:update",
        body=InstancesBody,
    ),
    Operation(
        "PUT",
        _INSTANCES,
        instances.sync,
        "The host has exactly these instances; whether that was known.",
        rule="gantt:instances:sync",
        body=SyncBody,
        answer=instances.Synced,
    ),
    Operation(
        "DELETE",
        f"{_INSTANCES}/{{uuid}}",
        instances.delete,
        "The instance is gone; not known is no error.",
        rule="gantt:instances:delete",
    ),
    Operation(
        "PUT",
        "/gantt/services",
        services.update,
        "What is known of a service changes; what is left out stays as it is.",
        rule="gantt:services:update",
        body=ServiceForm,
    ),
    Operation(
        "PUT",
        _SERVER_GROUP,
        server_groups.update,
        "The server group as it is from now on.",
        rule="gantt:server_groups:update",
        body=ServerGroupForm,
    ),
    Operation(
        "DELETE",
        _SERVER_GROUP,
        server_groups.delete,
        "The server group is gone; not known is no error.",
        rule="gantt:server_groups:delete",
    ),
)
