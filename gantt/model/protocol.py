"""The public library, as a type: what ``gantt.connect`` returns.

``Gantt`` (in process) and ``RemoteGantt`` (over HTTP) both implement it, so that a
caller need not know which of them it holds. Every method may raise
``errors.Unavailable``; writes raise the refusals of ``gantt.errors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import UNSET, UnsetType

from gantt.model.answers import (
    Candidates,
    ConsumerView,
    Created,
    Name,
    Provider,
    ProviderAggregates,
    ProviderAllocations,
    ProviderInventories,
    ProviderTraits,
    ProviderUsages,
    Report,
    TypeUsages,
)
from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
from gantt.model.diagnosis import Diagnosis
from gantt.model.requests import (
    CandidateRequest,
    ProviderQuery,
    TraitQuery,
    UsageQuery,
)
from gantt.model.scheduling import SchedulerProtocol
from gantt.model.usage_history import UsageRecord
from gantt.model.watching import Event, Events


class GanttProtocol(SchedulerProtocol, Protocol):
    """The books of a fleet, and where things run in it; amounts are int, in the unit
    of their resource class."""

    def list_providers(self, query: ProviderQuery = ...) -> tuple[Provider, ...]:
        """Providers that match ``query``. Raises UnknownName."""

    def get_provider(self, uuid: str) -> Provider:
        """Raises NotFound."""

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> Provider:
        """Raises DuplicateName, Invalid (unknown parent)."""

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> Provider:
        """Rename or re-parent. Raises NotFound, DuplicateName, Invalid (a loop)."""

    def delete_provider(self, uuid: str) -> None:
        """Raises NotFound, ProviderHasChildren, ProviderInUse."""

    def get_inventories(self, provider_uuid: str) -> ProviderInventories:
        """Raises NotFound."""

    def set_inventories(
        self,
        provider_uuid: str,
        inventories: Mapping[str, Inventory],
        *,
        generation: int | None = None,
    ) -> ProviderInventories:
        """Replace all inventories. ``generation`` None: whatever it is now.
        Raises NotFound, UnknownName, ConcurrentUpdate, InventoryInUse, Invalid."""

    def set_inventory(
        self, provider_uuid: str, resource_class: str, inventory: Inventory
    ) -> ProviderInventories:
        """Add or change one class. Raises NotFound, UnknownName, Invalid."""

    def delete_inventory(self, provider_uuid: str, resource_class: str) -> None:
        """Raises NotFound, InventoryInUse."""

    def delete_inventories(self, provider_uuid: str) -> None:
        """Raises NotFound, InventoryInUse."""

    def get_usages(self, provider_uuid: str) -> ProviderUsages:
        """Raises NotFound."""

    def get_aggregates(self, provider_uuid: str) -> ProviderAggregates:
        """Raises NotFound."""

    def set_aggregates(
        self,
        provider_uuid: str,
        aggregates: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderAggregates:
        """Raises NotFound, ConcurrentUpdate."""

    def get_traits(self, provider_uuid: str) -> ProviderTraits:
        """Raises NotFound."""

    def set_traits(
        self,
        provider_uuid: str,
        traits: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderTraits:
        """Raises NotFound, UnknownName, ConcurrentUpdate."""

    def list_traits(self, query: TraitQuery = ...) -> tuple[Name, ...]:
        """Traits that match ``query``."""

    def create_trait(self, name: str) -> Created:
        """Raises Invalid (not a custom name)."""

    def delete_trait(self, name: str) -> None:
        """Raises NotFound, Invalid (a standard one), Conflict (in use)."""

    def list_resource_classes(self) -> tuple[Name, ...]:
        """All resource classes, standard ones first."""

    def create_resource_class(self, name: str) -> Created:
        """Raises Invalid (not a custom name)."""

    def delete_resource_class(self, name: str) -> None:
        """Raises NotFound, Invalid (a standard one), Conflict (in use)."""

    def get_allocations(self, consumer_uuid: str) -> ConsumerView | None:
        """None when the consumer has no allocations."""

    def set_allocations(self, consumers: Iterable[ConsumerAllocations]) -> None:
        """Replace the allocations of all named consumers, or of none.
        Raises UnknownName, UnknownProvider, ConcurrentUpdate, DoesNotFit."""

    def delete_allocations(self, consumer_uuid: str) -> None:
        """Raises NotFound."""

    def get_provider_allocations(self, provider_uuid: str) -> ProviderAllocations:
        """Raises NotFound."""

    def total_usages(self, query: UsageQuery) -> dict[str, TypeUsages]:
        """Sums by consumer type; by the single key "all" unless ``by_type``."""

    def usage_history(
        self,
        resource_class: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        period: str = "hour",
        limit: int = 1000,
    ) -> tuple[UsageRecord, ...]:
        """What there was and what of it was used, oldest first, by periods ("5m",
        "hour", "day") that are over and begin within ``since`` <= start < ``until``.

        The latest ``limit`` records at most (1 to 10,000), of whole periods, and of one
        at the least: go on with ``until`` = the start of the first. Times are
        microseconds since the epoch. Raises Invalid."""

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """Raises UnknownName, BudgetSpent."""

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        """Why ``find_candidates`` answers nothing, what is near and what would help.
        Raises UnknownName, Invalid (too many constraints)."""

    def reshape(
        self,
        providers: Iterable[ReshapedProvider],
        consumers: Iterable[ConsumerAllocations],
    ) -> None:
        """Move inventories and allocations at once; raises as both of them."""

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """A page of what follows ``since`` (a revision, or the id of an event; None:
        what comes from now on); when that is nothing, what comes within ``wait_s``.
        Raises Invalid, Gone (compacted away, or another history)."""

    def watch(self, since: str | int | None = None) -> Iterator[Event]:
        """Every event after ``since`` and all to come, each once and in order. Raises
        as ``events``; go on after an error with the id of the last event."""

    def verify(self) -> Report:
        """Hold the columns of the process that answers against the tables and every
        invariant. Writes wait meanwhile: seconds for a large fleet."""

    def close(self) -> None:
        """Let go of everything; a second call does nothing."""
