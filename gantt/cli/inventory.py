"""``gantt inventory``: the resources that a provider has."""

from __future__ import annotations

import click

from gantt.cli.amount_text import FIELDS, inventories
from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import switch
from gantt.client.exchange import until_settled
from gantt.model.answers import ProviderInventories

COLUMNS = ("resource_class", *FIELDS)


@click.group("inventory")
def inventory() -> None:
    """Resources of a provider: total and limits of each resource class."""


def _print(session: CommandSession, found: ProviderInventories) -> None:
    session.print_rows(
        COLUMNS,
        (
            (name, *(getattr(record, field) for field in FIELDS))
            for name, record in found.inventories.items()
        ),
    )


@inventory.command("list")
@click.argument("provider")
@books_command
def list_inventories(session: CommandSession, *, provider: str) -> None:
    """List the inventories of a provider.

    \b
    Example:
      gantt inventory list gen-01
    """
    uuid = session.uuid_of(provider)
    _print(session, session.books.get_inventories(uuid))


@inventory.command("set")
@click.argument("provider")
@click.argument("words", nargs=-1, required=True, metavar="RC=TOTAL|RC:FIELD=N...")
@switch("--replace", "Delete inventories of classes not given.")
@books_command
def set_inventories(
    session: CommandSession, *, provider: str, words: tuple[str, ...], replace: bool
) -> None:
    """Set inventories of a provider; fields not given keep their values.

    gantt inventory set host1 VCPU=16 VCPU:allocation_ratio=4 MEMORY_MB=32768

    \b
    Example:
      gantt inventory set gen-02 CUSTOM_LICENSE=10
    """
    session.expect(*COLUMNS)
    uuid = session.uuid_of(provider)

    def attempt() -> ProviderInventories:
        known = session.books.get_inventories(uuid)
        kept = {} if replace else known.inventories
        wanted = {**kept, **inventories(words, known.inventories)}
        return session.books.set_inventories(uuid, wanted, generation=known.generation)

    _print(session, until_settled(attempt))


@inventory.command("delete")
@click.argument("provider")
@click.argument("classes", nargs=-1, metavar="[RC]...")
@click.option("--all", "everything", is_flag=True, help="Delete all inventories.")
@books_command
def delete_inventories(
    session: CommandSession,
    *,
    provider: str,
    classes: tuple[str, ...],
    everything: bool,
) -> None:
    """Delete the inventories of some resource classes, or all.

    \b
    Example:
      gantt inventory delete gen-02 CUSTOM_LICENSE
    """
    if bool(classes) == everything:
        raise click.UsageError("Name the classes to delete, or give --all.")
    uuid = session.uuid_of(provider)
    if everything:
        session.books.delete_inventories(uuid)
    for name in classes:
        session.books.delete_inventory(uuid, name)
