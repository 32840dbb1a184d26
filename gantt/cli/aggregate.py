"""``gantt aggregate``: groups of providers that share something."""

from __future__ import annotations

from collections.abc import Callable

import click

from gantt.cli.session import Session, books_command
from gantt.client.exchange import until_settled
from gantt.model.answers import ProviderAggregates

UUIDS = click.argument("aggregates", nargs=-1, metavar="UUID...")
SOME_UUIDS = click.argument("aggregates", nargs=-1, required=True, metavar="UUID...")


@click.group("aggregate")
def aggregate() -> None:
    """Groups of providers, identified by uuid; a group exists while it has members."""


def _print(session: Session, found: ProviderAggregates) -> None:
    session.print_rows(("uuid",), ((uuid,) for uuid in found.aggregates))


@aggregate.command("list")
@click.argument("provider")
@books_command
def list_aggregates(session: Session, *, provider: str) -> None:
    """List the aggregates that a provider is a member of."""
    uuid = session.provider(provider).uuid
    _print(session, session.books.get_aggregates(uuid))


def _change(
    session: Session, provider: str, change: Callable[[list[str]], list[str]]
) -> None:
    """Set a provider's aggregates to ``change`` of the current ones."""
    uuid = session.provider(provider).uuid

    def attempt() -> ProviderAggregates:
        known = session.books.get_aggregates(uuid)
        wanted = change(list(known.aggregates))
        return session.books.set_aggregates(uuid, wanted, generation=known.generation)

    _print(session, until_settled(attempt))


@aggregate.command("set")
@click.argument("provider")
@UUIDS
@books_command
def set_aggregates(
    session: Session, *, provider: str, aggregates: tuple[str, ...]
) -> None:
    """Set the aggregates of a provider, replacing all others."""
    _change(session, provider, lambda _: list(aggregates))


@aggregate.command("add")
@click.argument("provider")
@SOME_UUIDS
@books_command
def add_aggregates(
    session: Session, *, provider: str, aggregates: tuple[str, ...]
) -> None:
    """Add a provider to aggregates."""
    _change(session, provider, lambda known: [*known, *aggregates])


@aggregate.command("remove")
@click.argument("provider")
@SOME_UUIDS
@books_command
def remove_aggregates(
    session: Session, *, provider: str, aggregates: tuple[str, ...]
) -> None:
    """Remove a provider from aggregates."""
    _change(
        session,
        provider,
        lambda known: [uuid for uuid in known if uuid not in aggregates],
    )
