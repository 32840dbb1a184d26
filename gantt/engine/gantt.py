"""The library: one object that owns a State and a Store.

``read`` and ``submit`` are the two ways in; every named method is one of them with
names that a caller can guess (``gantt.model.protocol`` documents each).
"""

from __future__ import annotations

import logging
import random
import uuid as uuids
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import UNSET, UnsetType

from gantt.engine import verify
from gantt.engine.clock import Clock, SystemClock
from gantt.engine.follower import Follower, load_state
from gantt.engine.options import EngineOptions
from gantt.engine.replica import Replica
from gantt.engine.writer import Gate
from gantt.errors import GanttError, NotFound
from gantt.model import answers as a
from gantt.model import commands as c
from gantt.model.requests import (
    CandidateRequest,
    ProviderQuery,
    TraitQuery,
    UsageQuery,
)
from gantt.placement import queries
from gantt.placement.candidates.search import search
from gantt.placement.usages import total_usages
from gantt.state.state import State
from gantt.store.contract import Store

LOG = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")


class Gantt:
    """The books of a fleet in this process; thread safe. Implements GanttProtocol."""

    def __init__(
        self,
        store: Store,
        options: EngineOptions = EngineOptions(),
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        standard_names: c.SyncNames | None = None,
    ) -> None:
        """Load the books. Raises StoreFailed.

        ``standard_names`` that are missing are added; None adds none.
        """
        clock = clock or SystemClock()
        self._options = options
        self._store = store
        self._rng = rng or random.SystemRandom()
        self._replica = Replica(load_state(store))
        verify.compare_fingerprints(store, self._replica.state)
        self._follower = Follower(store, self._replica, options, clock)
        self._gate = Gate(
            store,
            self._replica,
            self._follower,
            options,
            clock=clock,
            new_uuid=lambda: str(uuids.uuid4()),
        )
        self._is_closed = False
        if standard_names is not None:
            self.submit(standard_names)

    # -- the two ways in ----------------------------------------------------------

    def read(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer of a pure ``query`` to the newest State.

        Returns only what is durable; raises what ``query`` raises, and StoreFailed.
        """
        while True:
            self._follower.freshen()
            refusal: GanttError | None = None
            with self._replica.lock:
                mark = self._replica.mark
                try:
                    answer = query(self._replica.state, *args, **kwargs)
                except GanttError as error:
                    refusal = error
            if not self._replica.wait(mark, self._options.answer_timeout_s):
                continue
            if refusal is not None:
                raise refusal
            return answer

    def submit(self, command: c.Command, request_id: str = "") -> Any:
        """Carry out ``command`` at the gate and return its answer once it is durable.

        Raises the refusal of its rule, Busy, StoreFailed.
        """
        return self._gate.submit(command, request_id)

    # -- about the engine itself --------------------------------------------------

    @property
    def url(self) -> str:
        """Where the books are, without the password."""
        return self._store.url

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""
        return self._replica.durable

    def is_ready(self) -> bool:
        """Whether reads and writes can be answered now."""
        try:
            self._follower.freshen()
        except GanttError:
            return False
        return not self._is_closed

    def counts(self) -> dict[str, float]:
        """What the engine has done so far, by name; for metrics."""
        counts = self._gate.counts
        return {
            "revision": self.revision,
            "queue_length": self._gate.queue_length,
            "batches": counts.batches,
            "commands": counts.commands,
            "refusals": counts.refusals,
            "aborts": counts.aborts,
            "unknown_outcomes": counts.unknown_outcomes,
            "foreign_writes": counts.foreign_writes,
            "commit_seconds": counts.commit_seconds,
            "reloads": self._follower.reloads,
        }

    def verify(self) -> a.Report:
        """Hold the columns against the tables and every invariant."""
        return verify.verify(self._store, self._replica, self._follower)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._gate.close()
        verify.leave_fingerprint(self._store, self._replica.durable)
        self._store.close()

    def __enter__(self) -> Gantt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- providers ----------------------------------------------------------------

    def list_providers(
        self, query: ProviderQuery = ProviderQuery()
    ) -> tuple[a.Provider, ...]:
        return self.read(queries.providers, query)

    def get_provider(self, uuid: str) -> a.Provider:
        return _found(self.read(queries.provider, uuid), uuid)

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> a.Provider:
        command = c.CreateProvider(uuid or str(uuids.uuid4()), name, parent_uuid)
        provider: a.Provider = self.submit(command)
        return provider

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> a.Provider:
        provider: a.Provider = self.submit(c.UpdateProvider(uuid, name, parent_uuid))
        return provider

    def delete_provider(self, uuid: str) -> None:
        self.submit(c.DeleteProvider(uuid))

    # -- inventories and usages ---------------------------------------------------

    def get_inventories(self, provider_uuid: str) -> a.ProviderInventories:
        return _found(self.read(queries.inventories, provider_uuid), provider_uuid)

    def set_inventories(
        self,
        provider_uuid: str,
        inventories: Mapping[str, c.Inventory],
        *,
        generation: int | None = None,
    ) -> a.ProviderInventories:
        command = c.SetInventories(provider_uuid, dict(inventories), generation)
        answer: a.ProviderInventories = self.submit(command)
        return answer

    def set_inventory(
        self, provider_uuid: str, resource_class: str, inventory: c.Inventory
    ) -> a.ProviderInventories:
        command = c.PutInventory(provider_uuid, resource_class, inventory)
        answer: a.ProviderInventories = self.submit(command)
        return answer

    def delete_inventory(self, provider_uuid: str, resource_class: str) -> None:
        self.submit(c.DeleteInventory(provider_uuid, resource_class))

    def delete_inventories(self, provider_uuid: str) -> None:
        self.submit(c.DeleteInventories(provider_uuid))

    def get_usages(self, provider_uuid: str) -> a.ProviderUsages:
        return _found(self.read(queries.usages, provider_uuid), provider_uuid)

    def total_usages(self, query: UsageQuery) -> dict[str, a.TypeUsages]:
        return self.read(total_usages, query)

    # -- aggregates, traits, classes ----------------------------------------------

    def get_aggregates(self, provider_uuid: str) -> a.ProviderAggregates:
        return _found(self.read(queries.aggregates, provider_uuid), provider_uuid)

    def set_aggregates(
        self,
        provider_uuid: str,
        aggregates: Iterable[str],
        *,
        generation: int | None = None,
    ) -> a.ProviderAggregates:
        command = c.SetAggregates(provider_uuid, tuple(aggregates), generation)
        answer: a.ProviderAggregates = self.submit(command)
        return answer

    def get_traits(self, provider_uuid: str) -> a.ProviderTraits:
        return _found(self.read(queries.traits, provider_uuid), provider_uuid)

    def set_traits(
        self,
        provider_uuid: str,
        traits: Iterable[str],
        *,
        generation: int | None = None,
    ) -> a.ProviderTraits:
        command = c.SetTraits(provider_uuid, tuple(traits), generation)
        answer: a.ProviderTraits = self.submit(command)
        return answer

    def list_traits(self, query: TraitQuery = TraitQuery()) -> tuple[a.Name, ...]:
        return self.read(queries.trait_names, query)

    def create_trait(self, name: str) -> a.Created:
        created: a.Created = self.submit(c.CreateTrait(name))
        return created

    def delete_trait(self, name: str) -> None:
        self.submit(c.DeleteTrait(name))

    def list_resource_classes(self) -> tuple[a.Name, ...]:
        return self.read(queries.resource_classes)

    def create_resource_class(self, name: str) -> a.Created:
        created: a.Created = self.submit(c.CreateResourceClass(name))
        return created

    def delete_resource_class(self, name: str) -> None:
        self.submit(c.DeleteResourceClass(name))

    # -- allocations and candidates -----------------------------------------------

    def get_allocations(self, consumer_uuid: str) -> a.ConsumerView | None:
        return self.read(queries.allocations, consumer_uuid)

    def set_allocations(self, consumers: Iterable[c.ConsumerAllocations]) -> None:
        self.submit(c.SetAllocations(tuple(consumers)))

    def delete_allocations(self, consumer_uuid: str) -> None:
        self.submit(c.DeleteAllocations(consumer_uuid))

    def get_provider_allocations(self, provider_uuid: str) -> a.ProviderAllocations:
        answer = self.read(queries.provider_allocations, provider_uuid)
        return _found(answer, provider_uuid)

    def find_candidates(self, request: CandidateRequest) -> a.Candidates:
        rng = self._rng if request.randomize else None
        return self.read(search, request, rng=rng, budget=self._options.search_budget)

    def reshape(
        self,
        providers: Iterable[c.ReshapedProvider],
        consumers: Iterable[c.ConsumerAllocations],
    ) -> None:
        self.submit(c.Reshape(tuple(providers), tuple(consumers)))


def _found(answer: T | None, uuid: str) -> T:
    if answer is None:
        raise NotFound(f"No resource provider with uuid {uuid} found")
    return answer
