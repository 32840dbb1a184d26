"""``gantt usage``: how much is in use."""

from __future__ import annotations

import click

from gantt.cli.session import Session, books_command
from gantt.model.requests import UsageQuery


@click.group("usage")
def usage() -> None:
    """How much is in use, of a provider or by a project."""


@usage.command("show")
@click.argument("provider")
@books_command
def show_usage(session: Session, *, provider: str) -> None:
    """Show what of a provider is in use, and what it could give."""
    uuid = session.provider(provider).uuid
    used = session.books.get_usages(uuid).usages
    has = session.books.get_inventories(uuid).inventories
    rows = []
    for name, amount in used.items():
        record = has.get(name)  # None: gone since the usages were read
        capacity = (
            int((record.total - record.reserved) * record.allocation_ratio)
            if record
            else 0
        )
        rows.append((name, amount, capacity))
    session.print_rows(("resource_class", "used", "capacity"), rows)


@usage.command("total")
@click.argument("project")
@click.option("--user", help="Only what this user uses.")
@click.option("--type", "kind", help="Only consumers of this type.")
@click.option("--by-type", is_flag=True, help="A line for each type of consumer.")
@books_command
def total_usage(
    session: Session, *, project: str, user: str | None, kind: str | None, by_type: bool
) -> None:
    """Sum what a project uses everywhere."""
    query = UsageQuery(
        project_id=project,
        user_id=user,
        consumer_type=kind,
        by_type=by_type or kind is not None,
    )
    found = session.books.total_usages(query)
    session.print_rows(
        ("consumer_type", "consumers", "resource_class", "used"),
        (
            (each, sums.consumer_count, name, used)
            for each, sums in found.items()
            for name, used in sums.usages.items()
        ),
    )
