"""Every operation of the native API, in one table.

The router, the OpenAPI document and the tests of both are made from it.
"""

from __future__ import annotations

from gantt.api.native import hosts, select
from gantt.api.native.bodies import Document, HostsQuery, SelectBody
from gantt.api.native.operation import Operation
from gantt.model.hosts import HostView
from gantt.model.selection import Decision

_HOST = "/gantt/hosts/{host}/{node}"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "POST",
        "/gantt/select",
        select.select,
        "Pick hosts and claim them; with dry_run, tell how it would be decided.",
        rule="gantt:select",
        body=SelectBody,
        answer=select.Selected | Decision,
        errors=(409,),
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
        body=Document,
        answer=HostView,
    ),
    Operation(
        "DELETE",
        _HOST,
        hosts.delete,
        "The host is gone; its provider stays.",
        rule="gantt:hosts:delete",
        errors=(404,),
    ),
)
