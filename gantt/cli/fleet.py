"""``gantt service``, ``gantt server-group`` and ``gantt host-aggregate``: what is known
of a fleet beside its hosts."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.output import time_text
from gantt.cli.page_options import paged, print_page
from gantt.cli.text_columns import TextColumns
from gantt.model.artifacts import size_text
from gantt.model.fleet import RELATIONS
from gantt.model.fleet_lists import GroupQuery, HostAggregateQuery, ServiceQuery
from gantt.model.hosts import Service
from gantt.model.names import canonical


@click.group("service")
def service() -> None:
    """Services on hosts: nova-compute, agents, and what an operator said of a host."""


@service.command("list")
@click.option("--host", help="Only services of this host.")
@click.option("--binary", help="Only services of this kind, such as nova-compute.")
@paged
@books_command
def list_services(session: CommandSession, /, **asked: Any) -> None:
    """List services with their state.

    \b
    Example:
      gantt service list --host gen-01
    """
    query = ServiceQuery(**asked)
    found = session.books.list_services(query)
    print_page(session, _SERVICE, found, query.limit, _name_of)


def _state(one: Service) -> str:
    if one.forced_down is True:
        return "forced down"
    return "disabled" if one.disabled is True else "enabled"


def _seen(one: Service) -> str | None:
    at = one.last_seen_up
    return time_text(at, "seconds") if isinstance(at, int) else None


def _name_of(one: Service) -> str:
    return f"{one.binary}@{one.host}"


_SERVICE = TextColumns(
    "host binary state reason zone last_seen_up version",
    state=_state,
    reason=attrgetter("disabled_reason"),
    zone=attrgetter("availability_zone"),
    last_seen_up=_seen,
)


@click.group("server-group")
def server_group() -> None:
    """Server groups, as Nova or another caller told of them."""


@server_group.command("list")
@click.option("--member", help="Only groups with this instance.")
@paged
@books_command
def list_groups(session: CommandSession, /, **asked: Any) -> None:
    """List server groups with their policies and members.

    \b
    Example:
      gantt server-group list --member 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    query = GroupQuery(**asked)
    print_page(session, _GROUP, session.books.list_server_groups(query), query.limit)


@server_group.command("relate")
@click.argument("uuid")
@click.argument("relations", nargs=-1, metavar="[RELATION]...")
@click.option("--none", "is_none", is_flag=True, help="Take all relations away.")
@books_command
def relate(
    session: CommandSession, *, uuid: str, relations: tuple[str, ...], is_none: bool
) -> None:
    """Show how the members of a server group are spread, or say it.

    A RELATION is spread=KEY[:MAX_SKEW][:hard|soft][:MIN_DOMAINS],
    distinct=KEY[:AT_MOST] or apart=KEY:GROUP; those that are given replace all.

    \b
    Example:
      gantt server-group relate 2c4e8a10-5b7d-4f19-8e36-90a1b2c3d4e5 spread=rack:1:hard
    """
    session.expect(*_RELATIONS.names)
    if relations and is_none:
        raise click.UsageError("Give relations or --none, not both.")
    if relations or is_none:
        session.books.relate_group(uuid, " ".join(relations))
    asked = ServiceQuery(host=canonical(uuid), binary=RELATIONS)
    session.print_each(_RELATIONS, session.books.list_services(asked))


@click.group("artifact")
def artifact() -> None:
    """What is copied to hosts before something starts: images, model weights."""


@artifact.command("list")
@click.argument("name", required=False)
@books_command
def list_artifacts(session: CommandSession, /, *, name: str | None) -> None:
    """List artifacts that are registered or that hosts report to hold.

    \b
    Example:
      gantt artifact list
    """
    session.print_each(_ARTIFACT, list(session.books.list_artifacts(name=name)))


@artifact.command("register")
@click.argument("name")
@click.argument("size")
@books_command
def register(session: CommandSession, /, *, name: str, size: str) -> None:
    """Say that an artifact exists, so that it may be required.

    \b
    Example:
      gantt artifact register llama-70b 130GiB
    """
    session.expect(*_ARTIFACT.names)
    session.books.register_artifact(name, size)
    session.print_each(_ARTIFACT, list(session.books.list_artifacts(name=name)))


@artifact.command("remove")
@click.argument("name")
@books_command
def remove(session: CommandSession, /, *, name: str) -> None:
    """Let nothing require an artifact any more.

    \b
    Example:
      gantt artifact remove llama-70b
    """
    session.books.remove_artifact(name)


_ARTIFACT = TextColumns(
    "name size registered hosts",
    size=lambda one: size_text(one.size),
    registered=lambda one: one.is_registered,
)
_RELATIONS = TextColumns(
    "group relations",
    group=attrgetter("host"),
    relations=attrgetter("disabled_reason"),
)
_GROUP = TextColumns(
    "uuid name policy max_server_per_host members",
    members=lambda one: sorted(one.members),
)


@click.group("host-aggregate")
def host_aggregate() -> None:
    """Aggregates of hosts, as Nova has them; 'gantt aggregate' is for providers."""


@host_aggregate.command("list")
@click.option("--host", help="Only aggregates with this host.")
@click.option("--zone", help="Only aggregates that make this availability zone.")
@paged
@books_command
def list_aggregates(session: CommandSession, /, **asked: Any) -> None:
    """List aggregates of hosts with their zones, hosts and metadata.

    \b
    Example:
      gantt host-aggregate list --zone north
    """
    query = HostAggregateQuery(**asked)
    found = session.books.list_host_aggregates(query)
    print_page(session, _AGGREGATE, found, query.limit)


_AGGREGATE = TextColumns(
    "uuid name id zone hosts metadata",
    zone=lambda one: one.metadata.get("availability_zone"),
    hosts=lambda one: sorted(one.hosts),
)
