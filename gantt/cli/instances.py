"""``gantt instance`` and ``gantt claim list``: what instances are known, and where."""

from __future__ import annotations

from typing import Any

import click

from gantt.cli.output import time_text
from gantt.cli.paging import paged, tell_next
from gantt.cli.select import claim as claims
from gantt.cli.session import Session, books_command
from gantt.errors import NotFound
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView

_INSTANCE = ("instance", "state", "host", "project", "claim", "leased_until")
_CLAIM = ("claim", "instance", "host", "project", "leased_until")


@click.group("instance")
def instance() -> None:
    """Instances: what is claimed for them, and which hosts name them."""


@instance.command("list")
@click.option("--host", help="Only instances on this host.")
@paged
@books_command
def list_instances(
    session: Session, *, host: str | None, limit: int, marker: str | None
) -> None:
    """List instances that have a claim or that a host names."""
    query = InstanceQuery(host=host, limit=limit, marker=marker)
    found = session.books.list_instances(query)
    session.print_rows(_INSTANCE, [_row(one) for one in found])
    if found:
        tell_next(len(found), limit, found[-1].uuid)


@instance.command("show")
@click.argument("uuid")
@books_command
def show(session: Session, *, uuid: str) -> None:
    """Show where an instance is, its claim and its allocations."""
    one = _known(session, uuid)
    session.print_rows((*_INSTANCE, "allocations"), [(*_row(one), one.allocations)])


@instance.command("release")
@click.argument("uuid")
@books_command
def release(session: Session, *, uuid: str) -> None:
    """Free what an instance has: its claim, or its part of one, and its allocations.

    It does not end the instance, nor its name on a host that says it runs there.
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
@click.option("--claim", "name", help="Only this claim.")
@paged
@books_command
def list_claims(
    session: Session,
    *,
    host: str | None,
    name: str | None,
    limit: int,
    marker: str | None,
) -> None:
    """List claims, a line for each of their instances, by the instance."""
    query = InstanceQuery(None, host, name, True, limit, marker)
    found = session.books.list_instances(query)
    session.print_rows(
        _CLAIM,
        [(one.claim, one.uuid, one.host, one.project_id, _until(one)) for one in found],
    )
    if found:
        tell_next(len(found), limit, found[-1].uuid)


def _known(session: Session, uuid: str) -> InstanceView:
    found = session.books.list_instances(InstanceQuery(uuid=uuid))
    if not found:
        raise NotFound(
            f"Instance {uuid} has no claim and no allocations, and no host names it: "
            "'gantt instance list' shows those that are known."
        )
    return found[0]


def _row(one: InstanceView) -> tuple[Any, ...]:
    return one.uuid, one.state, one.host, one.project_id, one.claim, _until(one)


def _until(one: InstanceView) -> str | None:
    at = one.leased_until
    return None if at is None or one.state == "over" else time_text(at, "seconds")
