"""What a suite finds in the books when it starts, as values, and how it gets there.

A ``World`` says which providers there are and who uses them; ``build`` writes it
through the library and answers the variables under which the suite looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

from msgspec import Struct

from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.protocol import GanttProtocol


class Node(Struct, frozen=True):
    """A provider and what is below it; ``groups`` are its aggregates by name."""

    name: str
    inventories: Mapping[str, Inventory] = {}
    traits: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()


class Claim(Struct, frozen=True):
    """A new consumer that uses ``amounts`` of the provider called ``node``.

    The other names are those of variables; "" is an owner that no suite names.
    """

    node: str
    amounts: dict[str, int]
    consumer: str = ""
    project: str = ""
    user: str = ""


def upper(name: str) -> str:
    return name.upper()


def upper_uuid(name: str) -> str:
    return f"{name.upper()}_UUID"


class World(Struct, frozen=True):
    """``variable`` makes the name of a node's or group's variable of its own name.

    ``fixed``: the variables that tell uuid and name of a node, where a suite says
    them first. ``spare``: variables of uuids that nothing in the books has.
    """

    roots: tuple[Node, ...] = ()
    claims: tuple[Claim, ...] = ()
    spare: tuple[str, ...] = ()
    fixed: Mapping[str, tuple[str, str]] = {}
    variable: Callable[[str], str] = upper_uuid


def amount(total: int, **limits: int | float) -> Inventory:
    """An inventory whose ``max_unit`` is its total unless ``limits`` say otherwise."""
    return Inventory(total, **{"max_unit": total, **limits})  # type: ignore[arg-type]


def amounts(**totals: int) -> dict[str, Inventory]:
    """An inventory of each class, with no other limits."""
    return {name: amount(total) for name, total in totals.items()}


def build(
    books: GanttProtocol, world: World, known: Mapping[str, str]
) -> dict[str, str]:
    """Write ``world`` into ``books``; ``known`` and all its variables."""
    variables = dict(known)
    variables.update((name, str(uuid4())) for name in world.spare)
    uuids: dict[str, str] = {}
    groups: dict[str, str] = {}
    for node, parent in _walk(world.roots):
        for group in node.groups:
            if group not in groups:
                groups[group] = variables[world.variable(group)] = str(uuid4())
        uuid_variable, name_variable = world.fixed.get(node.name, ("", ""))
        provider = books.create_provider(
            variables.get(name_variable, node.name),
            uuid=variables.get(uuid_variable),
            parent_uuid=uuids[parent.name] if parent else None,
        )
        uuids[node.name] = provider.uuid
        variables[uuid_variable or world.variable(node.name)] = provider.uuid
        _furnish(books, node, provider.uuid, groups)
    for claim in world.claims:
        _write(books, claim, uuids[claim.node], variables)
    return variables


def _walk(
    nodes: tuple[Node, ...], parent: Node | None = None
) -> Iterator[tuple[Node, Node | None]]:
    """Every node with its parent, parents first."""
    for node in nodes:
        yield node, parent
        yield from _walk(node.children, node)


def _furnish(
    books: GanttProtocol, node: Node, uuid: str, groups: Mapping[str, str]
) -> None:
    for name in node.traits:
        if name.startswith("CUSTOM_"):
            books.create_trait(name)
    for name, inventory in node.inventories.items():
        if name.startswith("CUSTOM_"):
            books.create_resource_class(name)
        books.set_inventory(uuid, name, inventory)
    if node.traits:
        books.set_traits(uuid, node.traits)
    if node.groups:
        books.set_aggregates(uuid, [groups[group] for group in node.groups])


def _write(
    books: GanttProtocol, claim: Claim, provider_uuid: str, variables: dict[str, str]
) -> None:
    consumer = str(uuid4())
    if claim.consumer:
        variables[claim.consumer] = consumer
    wish = ConsumerAllocations(
        consumer,
        {provider_uuid: claim.amounts},
        project_id=variables.get(claim.project, "somebody's project"),
        user_id=variables.get(claim.user, "somebody"),
        generation=None,
    )
    books.set_allocations([wish])
