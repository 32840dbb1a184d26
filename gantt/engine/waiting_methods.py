"""Demands that wait for room: the leader places them in their order; any process shows
and cancels them.

What is decided is a command like any other, so that two leaders do no harm: the rule
(``rules.demands``) places none twice, none that ended, and none before its turn.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.place_methods import Placing
from gantt.engine.reading.reader import Consistency
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.threads import LeaderTask
from gantt.errors import (
    Conflict,
    GanttError,
    NotFound,
    NoValidHost,
    PluginFailed,
    Queued,
    Unavailable,
)
from gantt.model.commands import EndDemand, SweepDemands
from gantt.model.demand_queue import MAX_POLL_S, DemandsQuery, DemandView
from gantt.model.paging import Listed, followed, length
from gantt.placement import demand_queries
from gantt.state.state import State
from gantt.state.waiting_demands import QueuedDemand

LOG = logging.getLogger(__name__)
_LOCAL: Final = Consistency.LOCAL
_EVERY: Final = DemandsQuery()
_KEEP_US: Final = 3_600_000_000
"""For so long it is told what became of a demand."""
_LOOK_S: Final = 0.5
"""How often the books are asked what another process did with a demand."""
_LEAST_S: Final = 0.05
_AT_LEAST_US: Final = 30_000_000
"""After so long demands are tried though nothing is known to have changed: hosts may
count as up again by the time alone."""


class _Seen(Struct, frozen=True):
    """What may let a demand in."""

    applied: int = -1
    queue: int = -1
    others: tuple[int, int] = (-1, -1)
    at: int = 0


class WaitingDemands(StateMethods):
    """Safe for many threads; ``run`` is called by one."""

    def __init__(self, state: StateAccess, placing: Placing, replica: Replica) -> None:
        super().__init__(state)
        self._placing, self._replica = placing, replica
        self._seen = _Seen()
        self._placed = 0
        self._is_closed = False

    # -- what waits -------------------------------------------------------------------

    def list_demands(self, query: DemandsQuery = _EVERY) -> tuple[DemandView, ...]:
        def part(after: str, most: int) -> Listed[DemandView]:
            more = replace(query, limit=most, after=after or query.after)
            return self.demand_page(more)

        return followed(part, query.limit)

    def demand_page(self, query: DemandsQuery) -> Listed[DemandView]:
        asked = replace(query, limit=length(query.limit))
        return self._reader.read(demand_queries.demands, asked)

    def show_demand(
        self, uuid: str, *, wait_s: float = 0.0, explain: bool = False
    ) -> DemandView:
        until = self._clock.monotonic() + min(wait_s, MAX_POLL_S)
        found = self._looked(uuid)
        while found.state == "waiting" and not self._is_closed:
            left_s = until - self._clock.monotonic()
            if left_s <= 0:
                break
            over_s = max(_LEAST_S, (found.until - self._clock.now()) / 1_000_000)
            self._await_end(uuid, min(left_s, over_s, _LOOK_S))
            found = self._looked(uuid)
        if explain and found.state == "waiting":
            return replace(found, said=self._why(uuid, found))
        return found

    def _looked(self, uuid: str) -> DemandView:
        """The demand, of which the books know; its time ends without a leader, too."""
        found = self._reader.read(demand_queries.demand, uuid)
        if found.state == "waiting" and found.until <= self._clock.now():
            self._sweep()
            found = self._reader.read(demand_queries.demand, uuid)
        return found

    def _await_end(self, uuid: str, most_s: float) -> None:
        """Until this process knows that it waits no more, or for so long."""
        until = self._clock.monotonic() + most_s
        while (left_s := until - self._clock.monotonic()) > 0:
            epoch, revision = self._replica.epoch, self._replica.durable
            known = self._reader.read(demand_queries.waiting, uuid, consistency=_LOCAL)
            if known is None or self._is_closed:
                return
            self._replica.wait_beyond(revision, epoch, left_s)

    def _why(self, uuid: str, view: DemandView) -> tuple[str, ...]:
        one = self._reader.read(demand_queries.waiting, uuid)
        if one is None:
            return view.said
        return (*view.said, *self._placing.why_not(one.entry.demand))

    def cancel_demand(self, uuid: str) -> None:
        said = "It was cancelled while it waited. Nothing was placed."
        self._committer.submit(EndDemand(uuid, "cancelled", said))

    # -- the leader -------------------------------------------------------------------

    def leader_tasks(self) -> tuple[LeaderTask, ...]:
        """Places demands that wait."""
        return (LeaderTask("demands", self.is_due, self.run),)

    def is_due(self) -> bool:
        """Whether something changed that may let one in, or ends one."""
        now = self._clock.now()
        return self._reader.read(self._is_due, now, consistency=_LOCAL)

    def _is_due(self, state: State, now: int) -> bool:
        queue, seen = state.fleet.facts.queue, self._seen
        if not queue.by_uuid:
            return False
        if _is_over(queue.by_uuid.values(), now):
            return True
        if not len(queue):
            return False
        others = state.fleet.context_touched, state.fleet.others_touched
        changed = state.fleet.journal.since(seen.applied)
        is_new = queue.moves != seen.queue or others != seen.others
        return is_new or changed is None or bool(changed.rows) or _is_late(seen, now)

    def run(self) -> int:
        """How many were placed or ended."""
        now = self._clock.now()
        self._seen, waiting, is_over = self._reader.read(
            self._look, now, consistency=_LOCAL
        )
        done = self._sweep() if is_over else 0
        stuck, left = set[str](), self._checks.options.waiting_per_pass
        for one in waiting:
            if one.entry.shape in stuck or one.until <= now:
                continue
            if not left or self._is_closed:
                break
            left -= 1
            if self._try(one):
                done += 1
            else:
                stuck.add(one.entry.shape)
        return done

    def _look(self, state: State, now: int) -> tuple[_Seen, list[QueuedDemand], bool]:
        fleet = state.fleet
        others = fleet.context_touched, fleet.others_touched
        seen = _Seen(state.applied, fleet.facts.queue.moves, others, now)
        queue = fleet.facts.queue
        return seen, queue.in_order(), _is_over(queue.by_uuid.values(), now)

    def _try(self, one: QueuedDemand) -> bool:
        """Whether it waits no more. Raises Unavailable."""
        try:
            self._placing.place_waiting(one)
        except (NoValidHost, Queued):
            return False
        except PluginFailed as failure:  # it may answer again, and others may fit
            LOG.warning("demand %s waits on: %s", one.uuid, failure.message)
            return False
        except Unavailable:
            raise
        except GanttError as error:  # it can never be placed as it is
            LOG.info("demand %s ends: %s", one.uuid, error.message)
            with suppress(NotFound, Conflict):
                ended = EndDemand(one.uuid, "refused", error.message)
                self._committer.submit(ended)
            return True
        except Exception:  # a bug that one meets must not keep all others waiting
            LOG.exception("demand %s was not tried, and waits on", one.uuid)
            return False
        self._placed += 1
        return True

    def _sweep(self) -> int:
        return self._committer.submit(SweepDemands(_KEEP_US))

    def counts(self) -> dict[str, float]:
        """How many wait, and were placed by this process, by name; for metrics."""
        queue = self._replica.state.fleet.facts.queue
        return {
            "demands_waiting": len(queue),
            "demands_waiting_limit": self._checks.options.max_waiting,
            "waiting_per_pass_limit": self._checks.options.waiting_per_pass,
            "demands_placed_late": self._placed,
        }

    def close(self) -> None:
        """Answer those that wait for one."""
        self._is_closed = True


def _is_late(seen: _Seen, now: int) -> bool:
    return not 0 <= now - seen.at < _AT_LEAST_US


def _is_over(every: Iterable[QueuedDemand], now: int) -> bool:
    """Whether the time of one is over, or what became of it was told long enough."""
    return any(
        one.until <= now
        if one.is_waiting
        else (one.row.updated_at or 0) + _KEEP_US <= now
        for one in every
    )
