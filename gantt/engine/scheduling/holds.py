"""Hosts that were advised a moment ago, held for the instance that asked.

Separate from the State: a hold is no allocation, is known to this process alone, and
is forgotten after seconds. It ends with the claim of its consumer, whichever process
wrote that, or with its time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.threads import Threads
from gantt.model.answers import Candidate
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import AdviceOptions
from gantt.state.state import State
from gantt.topology.promised_topology import PromisedTopology


class Hold(Struct, frozen=True):
    """``stamp``: what the books and the fleet knew of the consumer then; ``until``: by
    the monotonic clock, in seconds."""

    host_id: int
    taken: Taken
    amounts: Mapping[tuple[str, str], int]
    group: str | None
    pending: PromisedTopology | None
    stamp: tuple[object, ...]
    until: float


class Holds:
    """Safe for many threads. Where there are as many as ``advice_holds``, the oldest
    gives way."""

    def __init__(self, options: AdviceOptions, clock: Clock, threads: Threads) -> None:
        self._hold_s, self._limit = options.advice_hold_s, options.advice_holds
        self._clock = clock
        self._lock = threads.lock()
        self._by_consumer: dict[str, Hold] = {}
        self._made = self._claimed = self._expired = self._displaced = 0

    def add(
        self,
        state: State,
        consumer: str,
        host_id: int,
        taken: Taken,
        candidate: Candidate,
        group: str | None,
        pending: PromisedTopology | None = None,
    ) -> None:
        """Hold the host for ``consumer``, instead of what was held for it before."""
        if self._hold_s <= 0:
            return
        amounts = {
            (uuid, name): amount
            for uuid, resources in candidate.allocations.items()
            for name, amount in resources.items()
        }
        until = self._clock.monotonic() + self._hold_s
        stamp = _stamp(state, consumer)
        with self._lock:
            self._by_consumer.pop(consumer, None)
            if len(self._by_consumer) >= self._limit:
                self._by_consumer.pop(next(iter(self._by_consumer)))
                self._displaced += 1
            self._made += 1
            self._by_consumer[consumer] = Hold(
                host_id, taken, amounts, group, pending, stamp, until
            )

    def drop(self, consumer: str) -> None:
        """The advice was not used."""
        with self._lock:
            self._by_consumer.pop(consumer, None)

    def others(
        self,
        state: State,
        own: Collection[str],
        firm: Mapping[int, HeldHost] = MappingProxyType({}),
    ) -> Mapping[int, HeldHost]:
        """What is held for consumers other than ``own``, by row of ``state.hosts``, but
        on hosts of which ``firm`` says it."""
        if not self._by_consumer:  # what almost every decision finds
            return firm
        row_by_id = state.fleet.hosts.row_by_id
        found: dict[int, HeldHost] = {}
        with self._lock:
            self._end(state)
            for consumer, one in self._by_consumer.items():
                row = row_by_id.get(one.host_id)
                if row is not None and consumer not in own:
                    host = found.setdefault(row, HeldHost())
                    host.add(one.taken, one.amounts, one.group, one.pending)
        return {**found, **firm}

    def _end(self, state: State) -> None:
        """Forget those whose consumer was claimed for, or whose time is over."""
        now = self._clock.monotonic()
        for consumer, one in list(self._by_consumer.items()):
            if one.stamp != _stamp(state, consumer):
                self._claimed += 1
            elif one.until <= now:
                self._expired += 1
            else:
                continue
            del self._by_consumer[consumer]

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "advice_holds": len(self._by_consumer),
            "advice_holds_limit": self._limit,
            "advice_holds_made": self._made,
            "advice_holds_claimed": self._claimed,
            "advice_holds_expired": self._expired,
            "advice_holds_displaced": self._displaced,
        }


def _stamp(state: State, consumer: str) -> tuple[object, ...]:
    """What changes when the consumer is claimed for: its allocations, its claim here,
    and the host that names it."""
    consumers, fleet = state.consumers, state.fleet
    row = consumers.row_by_uuid.get(consumer)
    generation = None if row is None else int(consumers.generation[row])
    claim = fleet.claims.by_instance.get(consumer)
    known = fleet.instances.by_uuid.get(consumer)
    return (
        generation,
        None if claim is None else claim.id,
        None if known is None else known.host,
    )
