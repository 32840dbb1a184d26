"""The rule for reports that come with the token of one host: of its own nodes alone.

A report may bring a new node, and name its resource provider. Without this rule a host
could report the provider of another one, and so take its inventory over.
"""

from __future__ import annotations

from typing import Final

from gantt.errors import Forbidden
from gantt.model.reports import Report
from gantt.model.rows import ProviderRow
from gantt.state.state import State

MAX_NODES: Final = 64
"""Nodes of a host that its own token may report."""
_OTHER: Final = "use a token with the role service"


def check(state: State, report: Report) -> None:
    """Raises Forbidden, which names the field."""
    uuid = report.fields.uuid
    if isinstance(uuid, str) and not _is_own(state, report.host, uuid):
        raise Forbidden(
            f"fields.uuid is {uuid}, a resource provider that is not of host "
            f"{report.host!r}, and this token may only report what is: leave the field "
            f"out, or {_OTHER}."
        )
    if state.fleet.hosts.row_of(report.host, report.node) is None:
        _check_new_node(state, report)


def _check_new_node(state: State, report: Report) -> None:
    has = len(state.fleet.hosts.rows_of(report.host))
    if has >= MAX_NODES:
        raise Forbidden(
            f"node is {report.node!r}, which is new, but host {report.host!r} has "
            f"{has} nodes, and {MAX_NODES} is the limit for the token of a host: "
            f"delete nodes that are gone, or {_OTHER}."
        )
    if _is_of_another(state, report):
        raise Forbidden(
            f"node is {report.node!r}, which is there already and not of host "
            f"{report.host!r}, and this token may only report what is: give the node "
            f"another name, delete the old one, or {_OTHER}."
        )


def _is_of_another(state: State, report: Report) -> bool:
    """Whether another host has a node of this name, or a provider that has it is not
    this host's."""
    table, providers = state.fleet.hosts, state.providers
    row = providers.row_of_name(report.node)
    if row is not None and not _is_own(state, report.host, providers.at(row).uuid):
        return True
    # Rows of deleted hosts keep their names; the search through the list is quick.
    return report.node in table.nodes and any(
        table.nodes[row] == report.node for row in table.row_by_id.values()
    )


def _is_own(state: State, host: str, uuid: str) -> bool:
    """Whether the provider is new, the host's already, or has its name and no host."""
    row = state.fleet.hosts.row_of_uuid(uuid)
    if row is not None:
        return state.fleet.hosts.hosts[row] == host
    provider: ProviderRow | None = state.providers.find(uuid)
    return provider is None or provider.name == host
