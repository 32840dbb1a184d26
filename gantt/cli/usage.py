"""``gantt usage``: current and past usage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import click

from gantt.cli.amount_text import capacity_of
from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import preset
from gantt.cli.time_text import EPOCH, time_option
from gantt.model.requests import UsageQuery
from gantt.model.usage_history import MOST_RECORDS, Period, UsageRecord


@click.group("usage")
def usage() -> None:
    """Usage of a provider, of a project, and of the whole fleet over time."""


@usage.command("show")
@click.argument("provider")
@books_command
def show_usage(session: CommandSession, *, provider: str) -> None:
    """Show the usage and capacity of a provider.

    \b
    Example:
      gantt usage show gen-01
    """
    uuid = session.uuid_of(provider)
    used = session.books.get_usages(uuid).usages
    has = session.books.get_inventories(uuid).inventories
    rows = []
    for name, amount in used.items():
        record = has.get(name)  # None: deleted since the usages were read
        capacity = capacity_of(record) if record else 0
        rows.append((name, amount, capacity))
    session.print_rows(("resource_class", "used", "capacity"), rows)


@usage.command("total")
@click.argument("project")
@click.option("--user", help="Only usage by this user.")
@click.option("--type", "kind", help="Only consumers of this type.")
@click.option("--by-type", is_flag=True, help="Show each consumer type separately.")
@books_command
def total_usage(
    session: CommandSession,
    *,
    project: str,
    user: str | None,
    kind: str | None,
    by_type: bool,
) -> None:
    """Show the total usage of a project.

    \b
    Example:
      gantt usage total web --by-type
    """
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


@usage.command("history")
@click.option("--resource-class", metavar="RC", help="Only this resource class.")
@click.option("--zone", help="Only the hosts of this zone; otherwise all providers.")
@preset(
    "--period",
    click.Choice(get_args(Period)),
    "hour",
    "Length of each record; hours and days appear once complete.",
)
@time_option("--since", "Start time (UTC).")
@time_option("--until", "End time, exclusive (UTC).")
@preset(
    "--limit",
    click.IntRange(1, MOST_RECORDS),
    1000,
    "Maximum lines, keeping the latest; at least one whole period.",
)
@books_command
def usage_history(session: CommandSession, /, **asked: Any) -> None:
    """Show the total capacity and usage of the fleet, or of a zone, over time.

    \b
    Example:
      gantt usage history --resource-class VCPU --period day
    """
    found = session.books.usage_history(**asked)
    session.print_rows(_HISTORY, map(_row, found))


_AMOUNTS = ("capacity", "used_min", "used_avg", "used_max")
_HISTORY = ("start", "resource_class", *_AMOUNTS, "percent", "samples")


def _row(found: UsageRecord) -> tuple[object, ...]:
    start = EPOCH + timedelta(microseconds=found.start)
    percent = found.percent
    return (
        start.isoformat(),
        found.resource_class,
        *(_short(getattr(found, name)) for name in _AMOUNTS),
        None if percent is None else round(percent, 1),
        found.samples,
    )


def _short(amount: float) -> float:
    """Whole amounts as integers, means to two decimal places."""
    return int(amount) if amount.is_integer() else round(amount, 2)
