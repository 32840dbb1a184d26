"""The interface of a collector: it reads one aspect of this machine and reports it.

Separate so that a plug-in needs nothing else of the agent. A collector gets every path
it reads as a field, so that a test can give it sample files.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from gantt.model.commands import Inventory
from gantt.model.names import MAX_INT


class Part(Struct, frozen=True):
    """What is known of a machine; ``traits`` are names of os-traits."""

    inventories: dict[str, Inventory] = {}
    traits: frozenset[str] = frozenset()


class Collector(Protocol):
    """Reads one aspect of the machine that it runs on."""

    @property
    def provides(self) -> frozenset[str]:
        """The resource classes, and prefixes of traits, that are this collector's."""

    def collect(self) -> Part:
        """Read it now. Raises OSError if the system does not provide it."""


def amounts(resource_class: str, total: int) -> Part:
    """``total`` units of one class; nothing for less than one unit."""
    if total < 1:
        return Part()
    bounded = min(total, MAX_INT)
    return Part({resource_class: Inventory(total=bounded, max_unit=bounded)})


def merge(parts: list[Part]) -> Part:
    """All of ``parts`` as one; for the same class, a later one wins."""
    inventories: dict[str, Inventory] = {}
    traits: set[str] = set()
    for part in parts:
        inventories |= part.inventories
        traits |= part.traits
    return Part(inventories, frozenset(traits))
