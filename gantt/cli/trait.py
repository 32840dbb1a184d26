"""``gantt trait``: the capabilities of providers."""

from __future__ import annotations

from collections.abc import Callable

import click

from gantt.cli.session import Session, books_command
from gantt.client.exchange import until_settled
from gantt.model.answers import ProviderTraits
from gantt.model.requests import TraitQuery

TRAITS = click.argument("traits", nargs=-1, metavar="TRAIT...")
SOME_TRAITS = click.argument("traits", nargs=-1, required=True, metavar="TRAIT...")


@click.group("trait")
def trait() -> None:
    """Capabilities of providers that a request may require or forbid."""


@trait.command("list")
@click.option("--provider", help="Only traits of this provider.")
@click.option("--prefix", help="Only traits that start with this prefix.")
@click.option(
    "--associated/--unassociated",
    default=None,
    help="Only traits that some provider has, or that none has.",
)
@books_command
def list_traits(
    session: Session,
    *,
    provider: str | None,
    prefix: str | None,
    associated: bool | None,
) -> None:
    """List all traits, or those of one provider."""
    if provider:
        found = session.books.get_traits(session.provider(provider).uuid).traits
        start = (prefix or "").upper()
        names = [name for name in found if name.upper().startswith(start)]
    else:
        query = TraitQuery(prefix=prefix, is_associated=associated)
        names = [each.name for each in session.books.list_traits(query)]
    session.print_rows(("name",), ((name,) for name in names))


@trait.command("create")
@SOME_TRAITS
@books_command
def create_traits(session: Session, *, traits: tuple[str, ...]) -> None:
    """Create custom traits; existing ones are left unchanged."""
    made = [session.books.create_trait(name) for name in traits]
    session.print_rows(("name", "is_new"), ((each.name, each.is_new) for each in made))


@trait.command("delete")
@SOME_TRAITS
@books_command
def delete_traits(session: Session, *, traits: tuple[str, ...]) -> None:
    """Delete custom traits that no provider has."""
    for name in traits:
        session.books.delete_trait(name)


def _change(
    session: Session, provider: str, change: Callable[[list[str]], list[str]]
) -> None:
    """Set a provider's traits to ``change`` of the current ones."""
    uuid = session.provider(provider).uuid

    def attempt() -> ProviderTraits:
        known = session.books.get_traits(uuid)
        wanted = change(list(known.traits))
        return session.books.set_traits(uuid, wanted, generation=known.generation)

    found = until_settled(attempt)
    session.print_rows(("name",), ((name,) for name in found.traits))


@trait.command("set")
@click.argument("provider")
@TRAITS
@books_command
def set_traits(session: Session, *, provider: str, traits: tuple[str, ...]) -> None:
    """Set the traits of a provider, replacing all others."""
    _change(session, provider, lambda _: list(traits))


@trait.command("add")
@click.argument("provider")
@SOME_TRAITS
@books_command
def add_traits(session: Session, *, provider: str, traits: tuple[str, ...]) -> None:
    """Add traits to a provider."""
    _change(session, provider, lambda known: [*known, *traits])


@trait.command("remove")
@click.argument("provider")
@SOME_TRAITS
@books_command
def remove_traits(session: Session, *, provider: str, traits: tuple[str, ...]) -> None:
    """Remove traits from a provider."""
    _change(
        session, provider, lambda known: [name for name in known if name not in traits]
    )
