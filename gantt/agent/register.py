"""Register a machine in the books as a provider, and keep the entry up to date.

Called with any GanttProtocol, in process or over HTTP. It writes only what differs
from the books: a second call with the same facts writes nothing. Reserved amounts,
ratios and labels that an operator has set stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from gantt.agent.collectors.contract import Part
from gantt.agent.collectors.traits import PREFIXES
from gantt.errors import ConcurrentUpdate, DuplicateName
from gantt.model.answers import Provider
from gantt.model.commands import Inventory
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import ProviderQuery, TraitQuery

ATTEMPTS = 5


class Registration(Struct, frozen=True):
    """The provider of the machine, and whether anything was written."""

    provider: Provider
    has_written: bool


def register(gantt: GanttProtocol, part: Part, *, name: str, uuid: str) -> Registration:
    """Set inventories and traits of the provider ``name`` to ``part``.

    An existing provider of that name keeps its uuid; a new one gets ``uuid``.
    Raises the refusals of the books.
    """
    provider, is_new = _provider(gantt, name, uuid)
    has_set_inventories = _persist(lambda: _set_inventories(gantt, provider.uuid, part))
    has_set_traits = _persist(lambda: _set_traits(gantt, provider.uuid, part))
    has_written = is_new or has_set_inventories or has_set_traits
    return Registration(gantt.get_provider(provider.uuid), has_written)


def _provider(gantt: GanttProtocol, name: str, uuid: str) -> tuple[Provider, bool]:
    """The provider of that name, and whether it was made just now."""
    query = ProviderQuery(name=name)
    for found in gantt.list_providers(query):
        return found, False
    try:
        return gantt.create_provider(name, uuid=uuid), True
    except DuplicateName:
        # Another process registered this machine in between; or it was renamed, and
        # the uuid is in the books under its old name.
        by_name = gantt.list_providers(query)
        if by_name:
            return by_name[0], False
        return gantt.update_provider(uuid, name=name), True


def _persist(write: Callable[[], bool]) -> bool:
    """Call ``write``, which reads first, until no concurrent write interferes."""
    for _ in range(ATTEMPTS - 1):
        try:
            return write()
        except ConcurrentUpdate:
            continue
    return write()


def _set_inventories(gantt: GanttProtocol, uuid: str, part: Part) -> bool:
    present = gantt.get_inventories(uuid)
    wanted = dict(present.inventories)
    for resource_class, found in part.inventories.items():
        known = present.inventories.get(resource_class)
        wanted[resource_class] = found if known is None else _resized(known, found)
    if wanted == present.inventories:
        return False
    gantt.set_inventories(uuid, wanted, generation=present.generation)
    return True


def _resized(known: Inventory, found: Inventory) -> Inventory:
    """``known`` with the new size; settings of an operator are kept."""
    if known.total == found.total:
        return known
    is_whole = known.max_unit == known.total
    return replace(
        known,
        total=found.total,
        max_unit=found.max_unit if is_whole else known.max_unit,
        reserved=min(known.reserved, found.total),
    )


def _set_traits(gantt: GanttProtocol, uuid: str, part: Part) -> bool:
    present = gantt.get_traits(uuid)
    # Books of an older release may not know the newest names; those are left out.
    known = gantt.list_traits(TraitQuery(names=part.traits)) if part.traits else ()
    others = {name for name in present.traits if not name.startswith(PREFIXES)}
    wanted = others | {trait.name for trait in known}
    if wanted == set(present.traits):
        return False
    gantt.set_traits(uuid, sorted(wanted), generation=present.generation)
    return True
