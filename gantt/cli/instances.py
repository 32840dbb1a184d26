"""``gantt instance`` and ``gantt claim list``: what instances are known, and where."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import click

from gantt.cli.command_session import CommandSession, books_command
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
@click.option("--host", help="Only instances on this host.")
@paged
@books_command
def list_instances(session: CommandSession, /, **asked: Any) -> None:
    """List instances that have a claim or that a host names.

    \b
    Example:
      gantt instance list --host gen-01
    """
    query = InstanceQuery(**asked)
    print_page(session, _INSTANCE, session.books.list_instances(query), query.limit)


@instance.command("show")
@click.argument("uuid")
@books_command
def show(session: CommandSession, *, uuid: str) -> None:
    """Show where an instance is, its claim and its allocations.

    \b
    Example:
      gantt instance show 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    session.print_each(_SHOWN, [_known(session, uuid)])


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
    one = _known(session, uuid)
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


def _known(session: CommandSession, uuid: str) -> InstanceView:
    found = session.books.list_instances(InstanceQuery(uuid=uuid))
    if not found:
        raise NotFound(
            f"Instance {uuid} has no claim and no allocations, and no host names it: "
            "'gantt instance list' shows those that are known."
        )
    return found[0]


def _until(one: InstanceView) -> str | None:
    at = one.leased_until
    return None if at is None or one.state == "over" else time_text(at, "seconds")


_MADE: Final[dict[str, Callable[[InstanceView], Any]]] = {
    "instance": attrgetter("uuid"),
    "project": attrgetter("project_id"),
    "leased_until": _until,
}
_ALL = "instance state host project claim leased_until"
_INSTANCE = TextColumns(_ALL, **_MADE)
_SHOWN = TextColumns(f"{_ALL} allocations", **_MADE)
_CLAIM = TextColumns("claim instance host project leased_until", **_MADE)
