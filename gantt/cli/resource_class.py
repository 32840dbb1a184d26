"""``gantt resource-class``: the types of resources."""

from __future__ import annotations

import click

from gantt.cli.session import Session, books_command

NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group("resource-class")
def resource_class() -> None:
    """Types of resources, such as VCPU."""


@resource_class.command("list")
@books_command
def list_resource_classes(session: Session) -> None:
    """List all resource classes, standard ones first."""
    found = session.books.list_resource_classes()
    session.print_rows(("name",), ((each.name,) for each in found))


@resource_class.command("create")
@NAMES
@books_command
def create_resource_classes(session: Session, *, names: tuple[str, ...]) -> None:
    """Create custom resource classes; existing ones are left unchanged."""
    made = [session.books.create_resource_class(name) for name in names]
    session.print_rows(("name", "is_new"), ((each.name, each.is_new) for each in made))


@resource_class.command("delete")
@NAMES
@books_command
def delete_resource_classes(session: Session, *, names: tuple[str, ...]) -> None:
    """Delete custom resource classes that are not in use by any provider."""
    for name in names:
        session.books.delete_resource_class(name)
