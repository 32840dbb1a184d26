"""``gantt instance`` and ``gantt claim list``: what instances are known, and where."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.instance_lookup import find_instance, known_instance
from gantt.cli.output import time_text
from gantt.cli.page_options import paged, print_page
from gantt.cli.select import claim as claims
from gantt.cli.text_columns import TextColumns
from gantt.errors import NotFound
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView


@click.group("instance")
def instance() -> None:
    """Instances: what is claimed for them, and which hosts name them."""


@instance.command("list")
@click.option(
    "--search",
    metavar="TEXT",
    help="Only those with this in their name or uuid, or of this project; also those "
    "that only have allocations.",
)
@click.option("--project", "project_id", help="Only instances of this project.")
@click.option("--host", help="Only instances on this host.")
@paged
@books_command
def list_instances(session: CommandSession, /, **asked: Any) -> None:
    """List instances that have a claim or that a host names.

    \b
    Example:
      gantt instance list --host gen-01
      gantt instance list --search 8b04f231
    """
    query = InstanceQuery(**asked)
    print_page(session, _INSTANCE, session.books.list_instances(query), query.limit)


@instance.command("show")
@click.argument("name")
@books_command
def show(session: CommandSession, *, name: str) -> None:
    """Show where an instance is, its claim and its allocations.

    NAME is its uuid, its name, or a part of either that no other has. 'gantt explain'
    shows the decisions about its uuid.

    \b
    Example:
      gantt instance show 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    session.print_each(_SHOWN, [find_instance(session.books, name)])


@instance.command("release")
@click.argument("uuid")
@books_command
def release(session: CommandSession, *, uuid: str) -> None:
    """Free what an instance has: its claim, or its part of one, and its allocations.

    It does not end the instance, nor its name on a host that says it runs there.

    \b
    Example:
      gantt instance release 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    one = known_instance(session.books, uuid)
    if one.claim is not None:
        kin = session.books.list_instances(InstanceQuery(claim=one.claim, limit=2))
        if len(kin) < 2:
            session.books.release_claim(one.claim)
            return
    if not one.allocations:
        raise NotFound(
            f"Instance {uuid} has no allocations to release. "
            + (
                f"Its claim {one.claim} is shared with other instances: "
                "'gantt claim release' ends it for all of them."
                if one.claim
                else "A host names it, and that ends with the host's next list."
            )
        )
    session.books.delete_allocations(uuid)


@claims.command("list")
@click.option("--host", help="Only claims on this host.")
@click.option("--claim", help="Only this claim.")
@paged
@books_command
def list_claims(session: CommandSession, /, **asked: Any) -> None:
    """List claims, a line for each of their instances, by the instance.

    \b
    Example:
      gantt claim list --host gen-01
    """
    query = InstanceQuery(**asked, is_claimed=True)
    print_page(session, _CLAIM, session.books.list_instances(query), query.limit)


def _until(one: InstanceView) -> str | None:
    at = one.leased_until
    return None if at is None or one.state == "over" else time_text(at, "seconds")


_MADE: Final[dict[str, Callable[[InstanceView], Any]]] = {
    "instance": attrgetter("uuid"),
    "project": attrgetter("project_id"),
    "leased_until": _until,
}
_ALL = "instance state host project claim leased_until"
_INSTANCE = TextColumns(f"{_ALL} name", **_MADE)
_SHOWN = TextColumns(f"{_ALL} allocations name", **_MADE)
_CLAIM = TextColumns("claim instance host project leased_until name", **_MADE)
