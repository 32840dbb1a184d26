"""Runs third-party plug-ins in threads of their own, with no lock held.

Separate from scheduling because only this module knows about their threads and time
limits. One decision at a time calls plug-ins, as these expect; during a call, reads,
writes and searches go on. A call that does not return in time fails its request and
keeps its thread; until it returns, its plug-in is suspended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, Generic, TypeAlias, TypeVar, TypeVarTuple

from gantt.engine.clock import Clock
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import REST_S, Rest
from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.threads import Threads
from gantt.model.answers import Claimed
from gantt.model.scheduling import Selections
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.pauses import Moved
from gantt.scheduler.plugins.plugin_calls import Check, NamedPlugin, Stuck
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.plugins.registry import sets_limits
from gantt.scheduler.selection.answer import selections
from gantt.scheduler.selection.host_choice import Pick
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_snapshot import ColumnsRead, FleetSnapshot
from gantt.state.state import State

LOG = logging.getLogger(__name__)
Ts = TypeVarTuple("Ts")
T = TypeVar("T")
_Picks: TypeAlias = list[list[Pick]]
Answer: TypeAlias = Callable[
    [State, ScheduleRequest, FeasibleHosts, _Picks, Sequence[Pick], int, Claimed],
    Selections,
]


class _Call(Generic[T]):
    """One call of a plug-in, and how it ended."""

    def __init__(self, plugin: NamedPlugin, ask: Callable[[], T], began: float) -> None:
        self.plugin = plugin
        self.began = began
        self.is_done = self.is_late = False
        self._ask = ask
        self._error: BaseException | None = None
        self._found: list[T] = []

    def run(self) -> None:
        """In its thread."""
        try:
            self._found.append(self._ask())
        except BaseException as error:
            self._error = error

    def answer(self) -> T:
        """The result of the plug-in. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._found[0]


class _Worker:
    """A thread, and the call that it makes."""

    def __init__(self) -> None:
        self.call: _Call[Any] | None = None


class PluginThreads:
    """Implements ``Outside`` for the decisions of one engine. ``checks``: have the
    options in force, which may change between decisions."""

    def __init__(
        self,
        replica: Replica,
        rest: Rest,
        clock: Clock,
        threads: Threads,
        checks: Checks,
    ) -> None:
        self._replica, self._rest = replica, rest
        self._clock, self._threads = clock, threads
        self._checks = checks
        self._turn = threads.lock()
        self._has_search = True
        self._workers: list[_Worker] = []
        self._late: dict[NamedPlugin, _Call[Any]] = {}
        self._changed = threads.condition()
        self._is_closed = False
        self._wanted = ColumnsRead()
        self._snapshot: FleetSnapshot | None = None
        self._taken_at = (0, 0)
        self._calls = self._calls_late = 0

    # -- decisions ----------------------------------------------------------------

    def decided(
        self, query: Callable[[State, *Ts], T], *, has_search: bool = True
    ) -> Callable[[State, *Ts], T]:
        """``query`` as a decision, which may call plug-ins; run it with the state lock,
        and with ``search`` unless ``has_search`` is False. It raises Moved besides."""

        def deciding(state: State, *args: *Ts) -> T:
            if not self._turn.acquire(False):
                self._wait_for_turn(has_search)
            self._has_search = has_search
            try:
                return query(state, *args)
            finally:
                self._snapshot = None
                self._turn.release()

        return deciding

    def give_way(self) -> None:
        """Within a query that was ``decided`` and may take seconds: let others decide.
        Raises Moved, Busy."""
        self._rest.give_way(self._let_others)

    def _let_others(self) -> None:
        self._turn.release()
        try:
            self._clock.sleep(REST_S)
        finally:
            self._turn.acquire()
            self._has_search = True

    def answered(self, policy: Policy) -> Answer:
        """``selections``, for decisions by ``policy``; run it with the state lock
        alone."""
        if any(sets_limits(one) for one in policy.limiting):
            return self.decided(selections, has_search=False)
        return selections

    def _wait_for_turn(self, has_search: bool) -> None:
        """Raises Moved when row numbers are no longer valid afterwards."""
        try:
            self._rest.aside(self._turn.acquire, has_search=has_search)
        except Moved:
            self._turn.release()
            raise

    # -- Outside ------------------------------------------------------------------

    def frozen(self, fleet: Fleet) -> Fleet:
        taken_at = self._replica.epoch, self._replica.state.applied
        if self._snapshot is None or taken_at != self._taken_at:
            self._snapshot = FleetSnapshot(fleet, self._wanted, self._replica.lock)
            self._taken_at = taken_at
        return self._snapshot

    def call(self, plugin: NamedPlugin, ask: Callable[[Check], T]) -> T:
        options, began = self._checks.options, self._clock.monotonic()
        limit_s = options.plugin_time_limit_s
        self._check_suspended(plugin, began)

        def check() -> None:
            if call.is_late or self._clock.monotonic() - began > limit_s:
                raise Stuck(_late(limit_s))

        context = copy_context()  # of the request, for the log
        call = _Call(plugin, lambda: context.run(ask, check), began)
        worker = self._idle_worker(options.plugin_threads)
        self._calls += 1

        def wait() -> None:
            with self._changed:
                worker.call = call
                self._changed.notify_all()
                try:
                    self._changed.wait_for(lambda: call.is_done, limit_s)
                finally:
                    if not call.is_done:
                        self._suspend(call)

        self._rest.aside(wait, has_search=self._has_search)
        if call.is_late:
            raise Stuck(_late(limit_s))
        return call.answer()

    def _check_suspended(self, plugin: NamedPlugin, now: float) -> None:
        blocked = self._late.get(plugin)
        if blocked is not None:
            raise Stuck(
                f"is suspended: a call that began {now - blocked.began:.0f} s ago has "
                "not returned"
            )

    # -- threads ------------------------------------------------------------------

    def _idle_worker(self, most: int) -> _Worker:
        """A thread that waits for a call, a new one if need be. Raises Stuck."""
        with self._changed:
            for worker in self._workers:
                if worker.call is None:
                    return worker
            if len(self._workers) >= most:
                raise Stuck(
                    f"was not called: all {most} threads for plug-ins (plugin_threads "
                    "of [scheduler]) are occupied by calls that have not returned"
                )
        worker = _Worker()
        try:
            self._threads.start(lambda: self._work(worker), "gantt-plugin")
        except RuntimeError as error:
            raise Stuck(
                f"was not called: no thread could be started: {error}"
            ) from None
        self._workers.append(worker)
        return worker

    def _work(self, worker: _Worker) -> None:
        """Make calls until the engine is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: worker.call or self._is_closed)
                call = worker.call
            if call is None:
                return
            call.run()
            with self._changed:
                worker.call, call.is_done = None, True
                self._changed.notify_all()
                if call.is_late:
                    self._resume(call)

    def _suspend(self, call: _Call[Any]) -> None:
        call.is_late = True
        self._calls_late += 1
        self._late[call.plugin] = call

    def _resume(self, call: _Call[Any]) -> None:
        if self._late.get(call.plugin) is call:
            del self._late[call.plugin]
        took_s = self._clock.monotonic() - call.began
        label = call.plugin.label
        LOG.warning("%s has returned after %.1f s and is in use again", label, took_s)

    def close(self) -> None:
        """End threads that wait; those in a call do not keep the process alive."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def counts(self) -> dict[str, float]:
        """For metrics."""
        blocked = (one.call for one in self._workers)
        return {
            "plugin_calls": self._calls,
            "plugin_calls_late": self._calls_late,
            "plugin_threads_blocked": sum(
                call is not None and call.is_late for call in blocked
            ),
            "plugin_threads_limit": self._checks.options.plugin_threads,
            "plugins_suspended": len(self._late),
        }


def _late(limit_s: float) -> str:
    return f"did not return within {limit_s:g} s (plugin_time_limit_s of [scheduler])"
