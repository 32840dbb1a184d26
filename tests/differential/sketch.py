"""The presumed content of the books during a sequence, and its names.

Only presumed: the generator of the next step reads it, so that most steps are valid.
The truth is in the two services, and the tests do not use this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from msgspec import Struct, field

from tests.differential.step import Step

T = TypeVar("T")

SHARES = "MISC_SHARES_VIA_AGGREGATE"
CUSTOM_CLASSES = ("CUSTOM_A", "CUSTOM_B")
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", *CUSTOM_CLASSES)
CUSTOM_TRAITS = ("CUSTOM_T", "CUSTOM_U")
TRAITS = ("HW_CPU_X86_AVX", "STORAGE_DISK_SSD", *CUSTOM_TRAITS)
TYPES = ("INSTANCE", "MIGRATION")
PROJECTS = ("p1", "p2")
USERS = ("u1", "u2")


def provider_uuid(number: int) -> str:
    return f"{number:08x}-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


def consumer_uuid(number: int) -> str:
    return f"{number:08x}-cccc-4ccc-8ccc-cccccccccccc"


def aggregate_uuid(number: int) -> str:
    return f"{number:08x}-dddd-4ddd-8ddd-dddddddddddd"


AGGREGATES = tuple(map(aggregate_uuid, range(1, 4)))
CONSUMERS = tuple(map(consumer_uuid, range(1, 9)))
UNKNOWN_PROVIDER = provider_uuid(0xFFFF)


class Sketch(Struct):
    """The provider's parent, and class by class its inventory, by uuid."""

    rng: Random
    parents: dict[str, str | None] = field(default_factory=dict)
    inventories: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    consumers: set[str] = field(default_factory=set)
    created: int = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def one(self, choice: Sequence[T]) -> T:
        return self.rng.choice(choice)

    def some(self, choice: Sequence[T], least: int, most: int) -> list[T]:
        """Different ones, in any order."""
        count = min(self.rng.randint(least, most), len(choice))
        return self.rng.sample(list(choice), count)

    def provider(self) -> str:
        """One that exists, mostly."""
        if not self.parents or self.chance(0.03):
            return UNKNOWN_PROVIDER
        return self.one(list(self.parents))

    def next_provider(self) -> str:
        self.created += 1
        return provider_uuid(self.created)

    def places(self) -> list[tuple[str, str]]:
        """(provider, class) of every inventory."""
        return [
            (uuid, rc) for uuid, all_of in self.inventories.items() for rc in all_of
        ]


def nothing_more() -> None:
    """What most steps change in a sketch."""


class Wish(Struct, frozen=True):
    """A step, and what the sketch supposes once it has succeeded."""

    step: Step
    then: Callable[[], None] = nothing_more
