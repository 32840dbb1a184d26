"""``gantt provider``: the providers of resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
from msgspec import UNSET, UnsetType

from gantt.cli.amount_text import amounts, capacity_of, labels
from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import repeated
from gantt.cli.output import plain
from gantt.cli.page_options import cut, page_of
from gantt.model.answers import Provider
from gantt.model.requests import ProviderQuery

COLUMNS = ("uuid", "name", "generation", "parent_uuid", "root_uuid")
LISTED = (*COLUMNS, "parent")
TREE = ("provider", "uuid", "parent", "generation", "used")


@click.group("provider")
def provider() -> None:
    """Resource providers: hosts, and the parts inside them."""


def _record(found: Provider) -> dict[str, Any]:
    return {name: getattr(found, name) for name in COLUMNS}


@provider.command("list")
@click.option("--name", help="Only the provider with this name.")
@click.option("--uuid", help="Only the provider with this uuid.")
@click.option(
    "--in-tree", metavar="PROVIDER", help="Only providers in the tree of PROVIDER."
)
@repeated("--resource", "RC=N", "Require N of RC to be free.")
@repeated("--required", "TRAIT", "Require TRAIT.")
@repeated("--forbidden", "TRAIT", "Forbid TRAIT.")
@repeated("--member-of", "AGG", "Require membership of aggregate AGG.")
@repeated("--not-member-of", "AGG", "Exclude members of aggregate AGG.")
@cut
@books_command
def list_providers(
    session: CommandSession,
    /,
    *,
    name: str | None,
    uuid: str | None,
    in_tree: str | None,
    limit: int | None,
    marker: str | None,
    **words: tuple[str, ...],
) -> None:
    """List providers that match all options. A label in:A,B means any of them.

    \b
    Example:
      gantt provider list --resource VCPU=8 --required HW_CPU_X86_AVX2
    """
    query = ProviderQuery(
        name=name,
        uuid=uuid,
        in_tree=session.uuid_of(in_tree) if in_tree else None,
        resources=amounts(words["resource"]),
        traits=labels(words["required"], words["forbidden"]),
        member_of=labels(words["member_of"], words["not_member_of"]),
    )
    found = session.books.list_providers(query)
    page = page_of(found, limit, marker, lambda each: each.uuid)
    names = _parents(session, page, found)
    session.print_rows(
        LISTED,
        ((*_record(each).values(), names.get(each.parent_uuid or "")) for each in page),
    )


def _parents(
    session: CommandSession, page: Sequence[Provider], found: Sequence[Provider]
) -> dict[str, str]:
    """Names by uuid, of the parents of ``page`` at least."""
    names = {each.uuid: each.name for each in found}
    if all(each.parent_uuid in (None, *names) for each in page):
        return names
    return {each.uuid: each.name for each in session.books.list_providers()}


@provider.command("tree")
@click.argument("provider")
@books_command
def show_tree(session: CommandSession, *, provider: str) -> None:
    """Show the tree that a provider, by name or uuid, belongs to, and what of each
    resource is used in it.

    Without -o and -c names are drawn as a tree.

    \b
    Example:
      gantt provider tree gen-01
    """
    session.expect(*TREE)
    known = session.provider(provider)
    found = session.books.list_providers(ProviderQuery(in_tree=known.uuid))
    names = {each.uuid: each.name for each in found}
    drawn = session.is_prose
    session.print_rows(
        TREE,
        (
            (
                f"{lead}{plain(each.name)}" if drawn else each.name,
                each.uuid,
                names.get(each.parent_uuid or ""),
                each.generation,
                _used(session, each.uuid),
            )
            for lead, each in _walk(found)
        ),
    )


def _walk(found: Sequence[Provider]) -> Iterator[tuple[str, Provider]]:
    """Each provider below its parent, by name, and what is drawn before its name. Not
    recursive, because trees may be deep."""
    below: dict[str | None, list[Provider]] = {}
    for each in sorted(found, key=lambda one: one.name, reverse=True):
        below.setdefault(each.parent_uuid, []).append(each)
    waiting = [("", "", each) for each in below.get(None, ())]
    while waiting:
        lead, margin, each = waiting.pop()
        yield lead, each
        children = below.get(each.uuid, [])
        for place, child in enumerate(children):
            is_last = place == 0  # they are taken from the end
            branch, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            waiting.append((margin + branch, margin + rest, child))


def _used(session: CommandSession, uuid: str) -> dict[str, str]:
    used = session.books.get_usages(uuid).usages
    has = session.books.get_inventories(uuid).inventories
    return {
        name: f"{used.get(name, 0)}/{capacity_of(record)}"
        for name, record in has.items()
    }


@provider.command("show")
@click.argument("provider")
@books_command
def show_provider(session: CommandSession, *, provider: str) -> None:
    """Show one provider, by name or uuid.

    \b
    Example:
      gantt provider show gen-01
    """
    session.print_record(_record(session.provider(provider)))


@provider.command("create")
@click.argument("name")
@click.option("--uuid", help="Default: a random one.")
@click.option("--parent", metavar="PROVIDER", help="Parent provider.")
@books_command
def create_provider(
    session: CommandSession, *, name: str, uuid: str | None, parent: str | None
) -> None:
    """Create a provider.

    \b
    Example:
      gantt provider create shared-disk
    """
    session.expect(*COLUMNS)
    parent_uuid = session.uuid_of(parent) if parent else None
    made = session.books.create_provider(name, uuid=uuid, parent_uuid=parent_uuid)
    session.print_record(_record(made))


@provider.command("set")
@click.argument("provider")
@click.option("--name", help="New name.")
@click.option("--parent", metavar="PROVIDER", help="New parent provider.")
@click.option("--no-parent", is_flag=True, help="Make it a root provider.")
@books_command
def set_provider(
    session: CommandSession,
    *,
    provider: str,
    name: str | None,
    parent: str | None,
    no_parent: bool,
) -> None:
    """Rename a provider, or move it to another parent.

    \b
    Example:
      gantt provider set shared-disk --name shared-disk-1
    """
    if parent and no_parent:
        raise click.UsageError("Give --parent or --no-parent, not both.")
    if not (name or parent or no_parent):
        raise click.UsageError(
            "Nothing to change: give --name, --parent or --no-parent."
        )
    session.expect(*COLUMNS)
    known = session.provider(provider)
    parent_uuid: str | UnsetType | None = None if no_parent else UNSET
    if parent:
        parent_uuid = session.uuid_of(parent)
    changed = session.books.update_provider(
        known.uuid, name=name or known.name, parent_uuid=parent_uuid
    )
    session.print_record(_record(changed))


@provider.command("delete")
@click.argument("providers", nargs=-1, required=True, metavar="PROVIDER...")
@books_command
def delete_providers(session: CommandSession, *, providers: tuple[str, ...]) -> None:
    """Delete providers, which must have no allocations and no children.

    \b
    Example:
      gantt provider delete shared-disk-1
    """
    for each in providers:
        session.books.delete_provider(session.uuid_of(each))
