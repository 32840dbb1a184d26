"""What queries and commands answer: frozen views, uuids and names instead of rows.

Times are microseconds since the epoch in UTC; None where the books have none.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gantt.model.names import MAX_INT
from gantt.model.topology import Fit


class Inventory(Struct, frozen=True):
    """Amounts of one resource class; capacity = (total - reserved) * ratio."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0


class Provider(Struct, frozen=True):
    """A resource provider; ``modified_at`` is its last change, or its creation."""

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    modified_at: int | None = None


class ProviderInventories(Struct, frozen=True):
    """``modified_at``: the latest over the inventories; None without any."""

    generation: int
    inventories: dict[str, Inventory]
    modified_at: int | None = None


class ProviderUsages(Struct, frozen=True):
    """``usages``: amount used of each class that the provider has inventory of."""

    generation: int
    usages: dict[str, int]


class ProviderAggregates(Struct, frozen=True):
    """The aggregates that a provider is a member of."""

    generation: int
    aggregates: tuple[str, ...]


class ProviderTraits(Struct, frozen=True):
    """``modified_at``: the latest over the traits themselves; None without any."""

    generation: int
    traits: tuple[str, ...]
    modified_at: int | None = None


class ProviderShare(Struct, frozen=True):
    """What a consumer uses on one provider, and that provider's generation."""

    resources: dict[str, int]
    generation: int


Share = ProviderShare
"""The former name, for programs that import it."""


class ConsumerView(Struct, frozen=True):
    """A consumer with its allocations by provider uuid.

    ``created_at``: the latest creation among the allocations.
    """

    allocations: dict[str, ProviderShare]
    project_id: str
    user_id: str
    generation: int
    consumer_type: str | None
    created_at: int | None = None


class ConsumerShare(Struct, frozen=True):
    """What one consumer uses on the requested provider."""

    resources: dict[str, int]
    generation: int


class ProviderAllocations(Struct, frozen=True):
    """All allocations on a provider, by consumer uuid."""

    generation: int
    allocations: dict[str, ConsumerShare]
    created_at: int | None = None


class Name(Struct, frozen=True):
    """A resource class or a trait."""

    name: str
    modified_at: int | None = None
    created_at: int | None = None


class Created(Struct, frozen=True):
    """A name that now exists; ``is_new`` when this command made it."""

    name: str
    is_new: bool
    created_at: int | None = None


class TypeUsages(Struct, frozen=True):
    """Amounts used by the consumers of one type, and how many they are."""

    consumer_count: int
    usages: dict[str, int]


class ResourceSummary(Struct, frozen=True):
    """Capacity and use of one class on one provider."""

    capacity: int
    used: int


class ProviderSummary(Struct, frozen=True):
    """The state of a provider in an answer."""

    resources: dict[str, ResourceSummary]
    traits: tuple[str, ...]
    parent_uuid: str | None
    root_uuid: str


class Candidate(Struct, frozen=True):
    """One way to satisfy a request.

    ``allocations``: provider uuid -> class -> amount; ``mappings``: group suffix ->
    the providers that satisfy the group ("" is the unsuffixed group).
    """

    allocations: dict[str, dict[str, int]]
    mappings: dict[str, tuple[str, ...]]


class Candidates(Struct, frozen=True):
    """The answer to a candidate request; ``is_truncated``: a work budget cut it."""

    candidates: tuple[Candidate, ...]
    summaries: dict[str, ProviderSummary]
    is_truncated: bool = False

    @property
    def count(self) -> int:
        """How many were found."""
        return len(self.candidates)


class Repeat(Struct, frozen=True):
    """The place of an instance that was claimed before; ``candidate``: on the host."""

    host_id: int
    candidate: Candidate


class Claimed(Struct, frozen=True):
    """``taken``: per instance, the index of the choice that was taken; ``generations``:
    that of its consumer since (None: nothing is in the books); ``fits``: the cells and
    devices that its host must use (None: the host picks them, or there are none).
    ``repeats``: where an instance was claimed before by the same request, what was
    answered then (None: it is claimed now)."""

    claim: str
    taken: tuple[int, ...]
    leased_until: int | None = None
    generations: tuple[int | None, ...] = ()
    fits: tuple[Fit | None, ...] = ()
    repeats: tuple[Repeat | None, ...] = ()

    @property
    def is_repeat(self) -> bool:
        """Whether any instance was claimed before."""
        return any(one is not None for one in self.repeats)


class Report(Struct, frozen=True):
    """What a verification found; empty ``problems`` means none."""

    revision: int
    counts: dict[str, int]
    problems: tuple[str, ...]


Answer = Any
