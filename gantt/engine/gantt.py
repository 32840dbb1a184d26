"""The engine, and the library's public class: one object with a State and a Store.

``read`` and ``submit`` are the two ways in; the named methods of ``Books`` are made of
them. Answers leave only when what they were computed at is durable.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import uuid as uuids
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Protocol, TypeVar, TypeVarTuple

from gantt.engine import verify
from gantt.engine.background.leader_tasks import (
    Compaction,
    Leadership,
    LeaderTask,
    LeaderTasks,
)
from gantt.engine.background.usage_history import UsageHistory
from gantt.engine.books import Books
from gantt.engine.clock import Clock, SystemClock
from gantt.engine.commit.committer import Committer
from gantt.engine.health import Health
from gantt.engine.observing import Observer, Silence
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer, load_state
from gantt.engine.reading.poller import Poller
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import Rest
from gantt.engine.scheduling.checks import Checks
from gantt.engine.scheduling.claims import Claims
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.engine.scheduling.remote_claims import RemoteClaims
from gantt.engine.scheduling.remote_placement import RemotePlacement
from gantt.engine.scheduling.resource_tracker import ResourceTracker
from gantt.engine.scheduling.scheduling import Scheduling
from gantt.engine.scheduling.settlement import Settlement
from gantt.engine.threads import SystemThreads, Threads
from gantt.engine.watching import Watched, Watching
from gantt.errors import BudgetSpent, Refused
from gantt.model import answers as a
from gantt.model import commands as c
from gantt.model.diagnosis import Diagnosis
from gantt.model.requests import CandidateRequest
from gantt.model.scheduling import Selections
from gantt.model.selection import Asked, Capacity, Decision
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.model.usage_history import UsageRecord
from gantt.placement.candidates.explain import explain
from gantt.placement.candidates.search import search
from gantt.placement.totals import totals
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.drivers import driver_of
from gantt.scheduler.policy import policy_of
from gantt.state.state import State
from gantt.store.interface import Store

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
W = TypeVar("W")


class Truncatable(Protocol):
    """An answer that a work budget may have cut short."""

    @property
    def is_truncated(self) -> bool:
        """Whether it was."""

    @property
    def count(self) -> int:
        """How much was found."""


A = TypeVar("A", bound=Truncatable)


class Gantt(Books, ResourceTracker, Watched, Health):
    """The books of a fleet in this process; thread safe. Implements GanttProtocol."""

    def __init__(
        self,
        store: Store,
        options: EngineOptions = EngineOptions(),
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        standard_names: c.SyncNames | None = None,
        threads: Threads | None = None,
        remote: RemoteBooks | None = None,
    ) -> None:
        """Load the books. ``standard_names`` that are missing are added; None adds
        none. ``remote``: the Placement that the scheduler's options name, to be closed
        with this. Raises StoreFailed, Refused."""
        clock, threads = clock or SystemClock(), threads or SystemThreads()
        rng = rng or random.SystemRandom()
        self._wall = clock
        self._checks = Checks(options.scheduler)
        driver = driver_of(policy_of(options.scheduler))
        self._remote = _remote_claims(remote, options.scheduler, clock, rng, threads)
        self._options = options
        self._store = store
        self._rng = rng
        self._replica = Replica(
            load_state(store, options.scheduler.kept_changes),
            threads,
            stamp=store.stamp(),
        )
        self._rest = Rest(self._replica, clock, options.search_slice_ms / 1000)
        verify.compare_fingerprints(store, self._replica.state)
        self._log_tailer = LogTailer(
            store, self._replica, options, clock=clock, threads=threads
        )
        self._be_probed(threads)
        self._committer = Committer(
            store,
            self._replica,
            self._log_tailer,
            options,
            clock=clock,
            threads=threads,
            new_uuid=lambda: str(uuids.uuid4()),
        )
        self._reader = Reader(self._replica, self._log_tailer, self._rest)
        self._settlement = Settlement(
            self._reader,
            self._committer,
            clock,
            self._remote,
            options.scheduler.placement_timeout_s,
        )
        self._claims = Claims(
            self._reader, self._committer, self._checks, self._settlement
        )
        self._scheduling = Scheduling(
            self._reader,
            self._committer,
            self._checks,
            driver,
            clock,
            rng,
            options.search_budget,
            None
            if self._remote is None
            else RemotePlacement(
                self._reader,
                self._committer,
                clock,
                self._remote,
                self._claims,
                self._settlement,
            ),
        )
        self._records = self._scheduling.records
        self._watching = Watching(
            store, self._replica, self._log_tailer, clock=clock, threads=threads
        )
        period_s = options.poll_ms / 1000
        self._poller = Poller(self._log_tailer, self._replica, period_s, threads)
        self._observer: Observer = Silence()
        self._searches_cut = 0
        if standard_names is not None:
            try:
                self.submit(standard_names)
            except BaseException:
                self._poller.close()
                self._committer.close()
                raise
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuids.uuid4().hex[:8]}"
        self._usage = UsageHistory(
            store, lambda: self._reader.search(totals), options, self._wall
        )
        self._leader_tasks = self._begin_leader_tasks(threads)

    # -- the way in ----------------------------------------------------------------

    def read(
        self,
        query: Callable[[State, *Ts], T],
        *args: *Ts,
        consistency: Consistency = Consistency.DURABLE,
    ) -> T:
        """The answer of the pure function ``query(state, *args)``. Raises what it
        raises, and StoreFailed."""
        return self._reader.read(query, *args, consistency=consistency)

    def submit(self, command: c.Command[W], request_id: str = "") -> W:
        """Carry out ``command`` at the committer and return its answer once it is
        durable.

        ``request_id`` "": what ``bearing`` said. Raises the refusal of its rule, Busy,
        StoreFailed.
        """
        return self._committer.submit(command, request_id)

    def bearing(self, request_id: str) -> AbstractContextManager[None]:
        """What this thread submits meanwhile is done in the name of ``request_id``."""
        return self._committer.bearing(request_id)

    def find_candidates(self, request: CandidateRequest) -> a.Candidates:
        return self.search(search, request)

    def search(
        self, query: Callable[..., A], request: CandidateRequest, *args: Any
    ) -> A:
        """Run ``query(state, request, *args, rng=, budget=)``, a search for candidates
        within this engine's budget. Raises UnknownName, BudgetSpent, StoreFailed."""
        rng = self._rng if request.randomize else None
        budget = self._options.search_budget
        started = self._wall.monotonic()
        try:
            found = self._reader.search(
                partial(query, rng=rng, budget=budget), request, *args
            )
        except BudgetSpent:
            self._searches_cut += 1
            raise
        self._searches_cut += found.is_truncated
        self._observer.searched(self._wall.monotonic() - started, found.count)
        return found

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        query = partial(explain, budget=self._options.search_budget)
        return self._reader.search(query, request)

    def usage_history(
        self,
        resource_class: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        period: str = "hour",
        limit: int = 1000,
    ) -> tuple[UsageRecord, ...]:
        return self._usage.find(
            resource_class, since=since, until=until, period=period, limit=limit
        )

    # -- where things run ---------------------------------------------------------

    def schedule(self, request: ScheduleRequest) -> Selections:
        return self._scheduling.schedule(request)

    def decide(self, request: ScheduleRequest) -> Decision:
        return self._scheduling.decide(request)

    def capacity(self, spec: RequestSpec) -> Capacity:
        return self._scheduling.capacity(spec)

    def confirm_claim(self, claim: str) -> None:
        self._claims.confirm(claim)

    def release_claim(self, claim: str) -> None:
        self._claims.release(claim)

    def claim_projects(self, claim: str) -> frozenset[str | None]:
        """The projects of its instances; None: not known. Empty: it has ended."""
        return self._claims.projects(claim)

    def expire_claims(self) -> int:
        """Release the leases that have ended; how many claims that were."""
        return self._claims.expire()

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        project_id: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        asked = Asked(request_id, instance_uuid, project_id, limit)
        return self._records.find(asked)

    def decide_by(self, options: SchedulerOptions) -> None:
        """Decide by ``options`` from now on, as far as they may change while this runs.
        Raises Refused, and then nothing changes."""
        self._scheduling.retune(options)

    def scheduling_counts(self) -> dict[str, float]:
        """What was decided so far, by name; for metrics."""
        return self._scheduling.counts()

    # -- about the engine itself --------------------------------------------------

    @property
    def url(self) -> str:
        """Where the books are, without the password."""
        return self._store.url

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""
        return self._replica.durable

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` from now on what is done, and how long it takes."""
        self._observer = self._committer.observer = self._records.observer = observer

    def counts(self) -> dict[str, float]:
        """What the engine has done so far, by name; for metrics."""
        counts = self._committer.counts
        return {
            "revision": self.revision,
            "queue_length": len(self._committer.queue),
            "queue_limit": self._options.queue_length,
            "batch_limit": self._options.batch_size,
            "search_limit": self._options.search_budget,
            "log_limit": self._options.log_length,
            "searches_cut": self._searches_cut,
            "search_rests": self._rest.taken,
            "leases_swept": self._leader_tasks.done["expire"],
            "leader": self._leader_tasks.is_leading,
            "events_told": self._watching.told,
            **self._usage.counts(),
            **self.scheduling_counts(),
            "busy": self._committer.queue.turned_away,
            "reads_turned_away": self._log_tailer.admission.turned_away,
            "batches": counts.batches,
            "commands": counts.commands,
            "refusals": counts.refusals,
            "aborts": counts.aborts,
            "unknown_outcomes": counts.unknown_outcomes,
            "foreign_writes": counts.foreign_writes,
            "compacted": self._leader_tasks.done["compact"],
            "commit_seconds": counts.commit_seconds,
            "reloads": self._log_tailer.reloads,
        }

    def _begin_leader_tasks(self, threads: Threads) -> LeaderTasks:
        options, store = self._options, self._store
        policy = options.scheduler
        is_away = self._log_tailer.is_away
        self._records.share(
            store.decisions, self.name, policy, self._wall, threads, is_away
        )
        compaction = Compaction(store, self._replica, options.log_length)
        return LeaderTasks(
            Leadership(
                store,
                self.name,
                options.leader_silence_s,
                self._wall,
                lambda: self._log_tailer.outage.succeeded("write"),
            ),
            (
                LeaderTask("compact", compaction.is_due, compaction.run),
                LeaderTask("expire", self._has_ended_leases, self.expire_claims),
                LeaderTask("usage", self._usage.is_due, self._usage.run),
                *self._records.leader_tasks(),
            ),
            options.sweep_s,
            threads,
            is_away,
        )

    def _has_ended_leases(self) -> bool:
        now = self._committer.time.now()
        with self._replica.lock:
            claims = self._replica.state.fleet.claims
            if claims.leased and min(claims.leased.values()) <= now:
                return True
            return self._settlement.is_due(claims, now)

    def verify(self) -> a.Report:
        """Hold the columns against the tables and every invariant."""
        return verify.verify(self._store, self._replica, self._log_tailer)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = self._watching.is_closed = True
        self._leader_tasks.close()
        self._poller.close()
        self._committer.close()
        self._records.close()
        verify.leave_fingerprint(self._store, self._replica.durable)
        self._store.close()
        if self._remote is not None:
            self._remote.books.close()

    def __enter__(self) -> Gantt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _remote_claims(
    books: RemoteBooks | None,
    options: SchedulerOptions,
    clock: Clock,
    rng: random.Random,
    threads: Threads,
) -> RemoteClaims | None:
    """Raises Refused when the options want other books."""
    where = options.placement
    if (books is None) != (where == "embedded"):
        raise Refused(
            f"placement of [scheduler] is {where!r}, and "
            f"{'no client for it' if books is None else books.url} was given: "
            "open the engine with gantt.connection.open_gantt, which creates one."
        )
    return None if books is None else RemoteClaims(books, clock, rng, threads)
