"""``gantt trait``: what a provider can do, in words that a request may ask for."""

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
    """What a provider can do, in words that a request may ask for."""


@trait.command("list")
@click.option("--provider", help="Those of this provider.")
@click.option("--prefix", help="Those that begin so.")
@click.option(
    "--associated/--unassociated",
    default=None,
    help="Those that some provider bears, or none.",
)
@books_command
def list_traits(
    session: Session,
    *,
    provider: str | None,
    prefix: str | None,
    associated: bool | None,
) -> None:
    """List traits: all there are, or those of one provider."""
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
    """Create custom traits; those that exist are left alone."""
    made = [session.books.create_trait(name) for name in traits]
    session.print_rows(("name", "is_new"), ((each.name, each.is_new) for each in made))


@trait.command("delete")
@SOME_TRAITS
@books_command
def delete_traits(session: Session, *, traits: tuple[str, ...]) -> None:
    """Delete custom traits that no provider bears."""
    for name in traits:
        session.books.delete_trait(name)


def _change(
    session: Session, provider: str, change: Callable[[list[str]], list[str]]
) -> None:
    """Give a provider what ``change`` makes of the traits it has."""
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
    """Give a provider these traits and no others."""
    _change(session, provider, lambda _: list(traits))


@trait.command("add")
@click.argument("provider")
@SOME_TRAITS
@books_command
def add_traits(session: Session, *, provider: str, traits: tuple[str, ...]) -> None:
    """Give a provider these traits beside those it has."""
    _change(session, provider, lambda known: [*known, *traits])


@trait.command("remove")
@click.argument("provider")
@SOME_TRAITS
@books_command
def remove_traits(session: Session, *, provider: str, traits: tuple[str, ...]) -> None:
    """Take these traits from a provider."""
    _change(
        session, provider, lambda known: [name for name in known if name not in traits]
    )
