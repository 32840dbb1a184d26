"""The public library, as a type: what ``gantt.connect`` returns.

``Gantt`` (in process) and ``RemoteGantt`` (over HTTP) both implement it, so that a
caller need not know which of them it holds. Every method may raise
``errors.Unavailable``; writes raise the refusals of ``gantt.errors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, Self

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
from gantt.model.shadow import ShadowEvent, ShadowRecord, ShadowReport, Verdict
from gantt.model.usage_history import UsageRecord
from gantt.model.watching import Event, Events


class GanttProtocol(SchedulerProtocol, Protocol):
    """The books and the scheduler of a fleet; amounts are int, in the unit of their
    resource class."""

    @property
    def url(self) -> str:
        """Where the books are, without passwords."""

    def list_providers(self, query: ProviderQuery = ...) -> tuple[Provider, ...]:
        """Providers that match ``query``, in no particular order; () if there are none.
        Raises UnknownName."""

    def get_provider(self, uuid: str) -> Provider:
        """The provider. Raises NotFound."""

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> Provider:
        """A new provider without inventories; ``uuid`` None: a random one. Raises
        DuplicateName, Invalid (unknown parent)."""

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> Provider:
        """Rename or re-parent; ``parent_uuid`` None: a root, UNSET: as it is. Raises
        NotFound, DuplicateName, Invalid (a loop)."""

    def delete_provider(self, uuid: str) -> None:
        """Delete the provider, with its inventories. Raises NotFound,
        ProviderHasChildren, ProviderInUse."""

    def get_inventories(self, provider_uuid: str) -> ProviderInventories:
        """All inventories by resource class, and the generation that a later write can
        name. Raises NotFound."""

    def set_inventories(
        self,
        provider_uuid: str,
        inventories: Mapping[str, Inventory],
        *,
        generation: int | None = None,
    ) -> ProviderInventories:
        """Replace all inventories. ``generation`` None: no check. Raises NotFound,
        UnknownName, ConcurrentUpdate, InventoryInUse, Invalid."""

    def set_inventory(
        self, provider_uuid: str, resource_class: str, inventory: Inventory
    ) -> ProviderInventories:
        """Add or change one class. Raises NotFound, UnknownName, Invalid."""

    def delete_inventory(self, provider_uuid: str, resource_class: str) -> None:
        """Delete that of one class. Raises NotFound, InventoryInUse."""

    def delete_inventories(self, provider_uuid: str) -> None:
        """Delete all of them. Raises NotFound, InventoryInUse."""

    def get_usages(self, provider_uuid: str) -> ProviderUsages:
        """What is in use, by resource class; 0 where nothing is. Raises NotFound."""

    def get_aggregates(self, provider_uuid: str) -> ProviderAggregates:
        """The uuids of its aggregates. Raises NotFound."""

    def set_aggregates(
        self,
        provider_uuid: str,
        aggregates: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderAggregates:
        """Replace all its aggregates; one that is new comes into being. ``generation``
        None: no check. Raises NotFound, ConcurrentUpdate."""

    def get_traits(self, provider_uuid: str) -> ProviderTraits:
        """The names of its traits. Raises NotFound."""

    def set_traits(
        self,
        provider_uuid: str,
        traits: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderTraits:
        """Replace all its traits. ``generation`` None: no check. Raises NotFound,
        UnknownName, ConcurrentUpdate."""

    def list_traits(self, query: TraitQuery = ...) -> tuple[Name, ...]:
        """Traits that match ``query``."""

    def create_trait(self, name: str) -> Created:
        """Whether it is new. Raises Invalid (not a custom name)."""

    def delete_trait(self, name: str) -> None:
        """Delete a custom trait. Raises NotFound, Invalid (a standard one), Conflict
        (in use)."""

    def list_resource_classes(self) -> tuple[Name, ...]:
        """All resource classes, standard ones first."""

    def create_resource_class(self, name: str) -> Created:
        """Whether it is new. Raises Invalid (not a custom name)."""

    def delete_resource_class(self, name: str) -> None:
        """Delete a custom class. Raises NotFound, Invalid (a standard one), Conflict
        (in use)."""

    def get_allocations(self, consumer_uuid: str) -> ConsumerView | None:
        """The allocations of a consumer, by provider, with its project, user and
        generation; None when it has none."""

    def set_allocations(self, consumers: Iterable[ConsumerAllocations]) -> None:
        """Replace the allocations of all named consumers, or of none.
        Raises UnknownName, UnknownProvider, ConcurrentUpdate, DoesNotFit."""

    def delete_allocations(self, consumer_uuid: str) -> None:
        """Delete all allocations of the consumer, which goes with them. Raises
        NotFound (it has none)."""

    def get_provider_allocations(self, provider_uuid: str) -> ProviderAllocations:
        """What consumers use of the provider, by consumer. Raises NotFound."""

    def total_usages(self, query: UsageQuery) -> dict[str, TypeUsages]:
        """Sums by consumer type; by the single key "all" unless ``by_type``."""

    def shadow_event(self, event: ShadowEvent) -> None:
        """Nova begins to select hosts, or has selected them: decide beside it without
        its claim, and compare with what it claims. Raises Invalid."""

    def shadow_records(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        instance_uuid: str | None = None,
        request_id: str | None = None,
        verdict: Verdict | None = None,
        limit: int = 100,
    ) -> tuple[ShadowRecord, ...]:
        """What Gantt decided beside Nova and what Nova then claimed, for requests from
        ``since`` up to ``until`` (microseconds since the epoch), the latest first.
        Raises Invalid for a limit out of bounds."""

    def shadow_report(
        self, *, since: int | None = None, until: int | None = None
    ) -> ShadowReport:
        """How far both agree, computed from these records."""

    def usage_history(
        self,
        resource_class: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        period: str = "hour",
        limit: int = 1000,
        zone: str | None = None,
    ) -> tuple[UsageRecord, ...]:
        """Capacity and usage, oldest first, by periods ("5m", "hour", "day") that are
        over and begin within ``since`` <= start < ``until``; of the hosts of ``zone``,
        or of all providers.

        The latest ``limit`` records at most (1 to 10,000), of whole periods, and of at
        least one: continue with ``until`` = the start of the first. Times are
        microseconds since the epoch. Raises Invalid."""

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """Where the request would fit, and a summary of the providers concerned; no
        candidate is an answer, not an error. Raises UnknownName, BudgetSpent."""

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        """Why ``find_candidates`` finds nothing, the nearest providers, and the
        smallest change that would help. Raises UnknownName, Invalid (too many
        constraints)."""

    def reshape(
        self,
        providers: Iterable[ReshapedProvider],
        consumers: Iterable[ConsumerAllocations],
    ) -> None:
        """Move inventories and allocations at once; raises what their setters raise."""

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """A page of events after ``since`` (a revision, or the id of an event; None:
        from now on); if there are none, those that arrive within ``wait_s``. Raises
        Invalid, Gone (compacted away, or another history)."""

    def watch(self, since: str | int | None = None) -> Iterator[Event]:
        """Every event after ``since`` and all future ones, each once and in order.
        Raises as ``events``; continue after an error with the id of the last event."""

    def verify(self) -> Report:
        """Compare the columns of the answering process with the tables, and check every
        invariant. Writes wait meanwhile: seconds for a large fleet."""

    def close(self) -> None:
        """Close; a second call does nothing."""

    def __enter__(self) -> Self:
        """For ``with``: itself."""

    def __exit__(self, *_: object) -> None:
        """Close."""
