"""``gantt service``, ``gantt server-group`` and ``gantt host-aggregate``: what is known
of a fleet beside its hosts."""

from __future__ import annotations

from typing import Any

import click

from gantt.cli.output import time_text
from gantt.cli.paging import paged, tell_next
from gantt.cli.session import Session, books_command
from gantt.model.fleet_lists import GroupQuery, HostAggregateQuery, ServiceQuery
from gantt.model.hosts import Service

_SERVICE = ("host", "binary", "state", "reason", "zone", "last_seen_up", "version")
_GROUP = ("uuid", "name", "policy", "max_server_per_host", "members")
_AGGREGATE = ("uuid", "name", "id", "zone", "hosts", "metadata")


@click.group("service")
def service() -> None:
    """Services on hosts: nova-compute, agents, and what an operator said of a host."""


@service.command("list")
@click.option("--host", help="Only services of this host.")
@click.option("--binary", help="Only services of this kind, such as nova-compute.")
@paged
@books_command
def list_services(
    session: Session,
    *,
    host: str | None,
    binary: str | None,
    limit: int,
    marker: str | None,
) -> None:
    """List services with their state."""
    query = ServiceQuery(host, binary, limit, marker)
    found = session.books.list_services(query)
    session.print_rows(_SERVICE, [_service(one) for one in found])
    if found:
        tell_next(len(found), limit, f"{found[-1].binary}@{found[-1].host}")


def _service(one: Service) -> tuple[Any, ...]:
    state = "disabled" if one.disabled is True else "enabled"
    if one.forced_down is True:
        state = "forced down"
    seen = one.last_seen_up
    return (
        one.host,
        one.binary,
        state,
        one.disabled_reason,
        one.availability_zone,
        time_text(seen, "seconds") if isinstance(seen, int) else None,
        one.version,
    )


@click.group("server-group")
def server_group() -> None:
    """Server groups, as Nova or another caller told of them."""


@server_group.command("list")
@click.option("--member", help="Only groups with this instance.")
@paged
@books_command
def list_groups(
    session: Session, *, member: str | None, limit: int, marker: str | None
) -> None:
    """List server groups with their policies and members."""
    found = session.books.list_server_groups(GroupQuery(member, limit, marker))
    session.print_rows(
        _GROUP,
        [
            (
                one.uuid,
                one.name,
                one.policy,
                one.max_server_per_host,
                sorted(one.members),
            )
            for one in found
        ],
    )
    if found:
        tell_next(len(found), limit, found[-1].uuid)


@click.group("host-aggregate")
def host_aggregate() -> None:
    """Aggregates of hosts, as Nova has them; 'gantt aggregate' is for providers."""


@host_aggregate.command("list")
@click.option("--host", help="Only aggregates with this host.")
@click.option("--zone", help="Only aggregates that make this availability zone.")
@paged
@books_command
def list_aggregates(
    session: Session,
    *,
    host: str | None,
    zone: str | None,
    limit: int,
    marker: str | None,
) -> None:
    """List aggregates of hosts with their zones, hosts and metadata."""
    query = HostAggregateQuery(None, host, zone, limit, marker)
    found = session.books.list_host_aggregates(query)
    session.print_rows(
        _AGGREGATE,
        [
            (
                one.uuid,
                one.name,
                one.id,
                one.metadata.get("availability_zone"),
                sorted(one.hosts),
                one.metadata,
            )
            for one in found
        ],
    )
    if found:
        tell_next(len(found), limit, found[-1].uuid)
