"""``gantt trait``, ``gantt aggregate`` and ``gantt resource-class``: names and groups.

In one module because providers are given traits and aggregates by the same commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.client.exchange import until_settled
from gantt.model.answers import Created, ProviderAggregates, ProviderTraits
from gantt.model.requests import TraitQuery

Change = Callable[[list[str]], list[str]]
# Changes the labels of the provider with a uuid once; what they are then.
Write = Callable[[CommandSession, str, Change], tuple[str, ...]]

_CREATED = ("name", "is_new")


def _print(session: CommandSession, column: str, names: Iterable[str]) -> None:
    session.print_rows((column,), ((name,) for name in names))


def _print_created(session: CommandSession, made: list[Created]) -> None:
    session.print_rows(_CREATED, ((each.name, each.is_new) for each in made))


def _add_edits(
    group: click.Group,
    column: str,
    metavar: str,
    write: Write,
    example: str,
    helps: dict[str, str],
) -> None:
    """Add the commands ``set``, ``add`` and ``remove``, with their ``helps``."""

    def add_command(
        name: str, change: Callable[[list[str], tuple[str, ...]], list[str]]
    ) -> None:
        typed = f"gantt {group.name} {name} gen-01 {example}"

        @group.command(name, help=f"{helps[name]}\n\n\b\nExample:\n  {typed}")
        @click.argument("provider")
        @click.argument("names", nargs=-1, required=name != "set", metavar=metavar)
        @books_command
        def edit(
            session: CommandSession, *, provider: str, names: tuple[str, ...]
        ) -> None:
            session.expect(column)
            uuid = session.uuid_of(provider)
            found = until_settled(
                lambda: write(session, uuid, lambda known: change(known, names))
            )
            _print(session, column, found)

    add_command("set", lambda _, names: list(names))
    add_command("add", lambda known, names: [*known, *names])
    add_command(
        "remove", lambda known, names: [name for name in known if name not in names]
    )


# -- traits ---------------------------------------------------------------------------

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
    session: CommandSession,
    *,
    provider: str | None,
    prefix: str | None,
    associated: bool | None,
) -> None:
    """List all traits, or those of one provider.

    \b
    Examples:
      gantt trait list --provider gen-01
      gantt trait list --prefix CUSTOM_
    """
    if provider:
        found = session.books.get_traits(session.uuid_of(provider)).traits
        start = (prefix or "").upper()
        names = [name for name in found if name.upper().startswith(start)]
    else:
        query = TraitQuery(prefix=prefix, is_associated=associated)
        names = [each.name for each in session.books.list_traits(query)]
    _print(session, "name", names)


@trait.command("create")
@SOME_TRAITS
@books_command
def create_traits(session: CommandSession, *, traits: tuple[str, ...]) -> None:
    """Create custom traits; existing ones are left unchanged.

    \b
    Example:
      gantt trait create CUSTOM_SSD
    """
    session.expect(*_CREATED)
    _print_created(session, [session.books.create_trait(name) for name in traits])


@trait.command("delete")
@SOME_TRAITS
@books_command
def delete_traits(session: CommandSession, *, traits: tuple[str, ...]) -> None:
    """Delete custom traits that no provider has.

    \b
    Example:
      gantt trait delete CUSTOM_SSD
    """
    for name in traits:
        session.books.delete_trait(name)


def _write_traits(
    session: CommandSession, uuid: str, change: Change
) -> tuple[str, ...]:
    known: ProviderTraits = session.books.get_traits(uuid)
    wanted = change(list(known.traits))
    return session.books.set_traits(uuid, wanted, generation=known.generation).traits


_add_edits(
    trait,
    "name",
    "TRAIT...",
    _write_traits,
    "CUSTOM_SSD",
    {
        "set": "Set the traits of a provider, replacing all others.",
        "add": "Add traits to a provider.",
        "remove": "Remove traits from a provider.",
    },
)


# -- aggregates -----------------------------------------------------------------------


@click.group("aggregate")
def aggregate() -> None:
    """Groups of providers, identified by uuid; a group exists while it has members."""


@aggregate.command("list")
@click.argument("provider")
@books_command
def list_aggregates(session: CommandSession, *, provider: str) -> None:
    """List the aggregates that a provider is a member of.

    \b
    Example:
      gantt aggregate list gen-01
    """
    found = session.books.get_aggregates(session.uuid_of(provider))
    _print(session, "uuid", found.aggregates)


def _write_aggregates(
    session: CommandSession, uuid: str, change: Change
) -> tuple[str, ...]:
    known: ProviderAggregates = session.books.get_aggregates(uuid)
    wanted, at = change(list(known.aggregates)), known.generation
    return session.books.set_aggregates(uuid, wanted, generation=at).aggregates


_add_edits(
    aggregate,
    "uuid",
    "UUID...",
    _write_aggregates,
    "7e3c55d0-9b1f-4d38-a6c2-0f1b6d4e8a92",
    {
        "set": "Set the aggregates of a provider, replacing all others.",
        "add": "Add a provider to aggregates.",
        "remove": "Remove a provider from aggregates.",
    },
)


# -- resource classes -----------------------------------------------------------------

NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group("resource-class")
def resource_class() -> None:
    """Types of resources, such as VCPU."""


@resource_class.command("list")
@books_command
def list_resource_classes(session: CommandSession) -> None:
    """List all resource classes, standard ones first.

    \b
    Example:
      gantt resource-class list
    """
    found = session.books.list_resource_classes()
    _print(session, "name", (each.name for each in found))


@resource_class.command("create")
@NAMES
@books_command
def create_resource_classes(session: CommandSession, *, names: tuple[str, ...]) -> None:
    """Create custom resource classes; existing ones are left unchanged.

    \b
    Example:
      gantt resource-class create CUSTOM_LICENSE
    """
    session.expect(*_CREATED)
    made = [session.books.create_resource_class(name) for name in names]
    _print_created(session, made)


@resource_class.command("delete")
@NAMES
@books_command
def delete_resource_classes(session: CommandSession, *, names: tuple[str, ...]) -> None:
    """Delete custom resource classes that are not in use by any provider.

    \b
    Example:
      gantt resource-class delete CUSTOM_LICENSE
    """
    for name in names:
        session.books.delete_resource_class(name)
