"""One seeded run: several processes on one database, killed and restarted.

The engines are the real ones: clock, threads, locks and the database's driver are the
simulator's, so that one seed is one schedule. Here are the engines and their clients;
``world`` schedules actors, ``fault_schedule`` injects faults, ``history`` records what
callers saw, ``checker`` validates it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError, StoreFailed
from gantt.model.changes import Cursor
from gantt.model.rows import ROW_TYPES, key_of
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State
from gantt.store.interface import Store, StoreOptions
from tests.simulation.checker import check
from tests.simulation.databases import InMemory, OnDatabase, Shared
from tests.simulation.fault_schedule import FaultSchedule
from tests.simulation.history import Finding, History, Op, Read, Tables, empty_tables
from tests.simulation.place import Place
from tests.simulation.snapshot import Snapshot
from tests.simulation.threads import SimThreads
from tests.simulation.workload import STANDARD, Workload
from tests.simulation.world import Event, Stuck, World

MEMORY, GALERA = "memory", "galera"


class Plan(Struct, frozen=True):
    """The parameters of a run: equal plans give equal runs.

    ``store``: memory, galera (books in memory, no lock between nodes), or the URL of a
    database that may be emptied. ``steps``: commands and reads of all clients.
    ``without``: kinds of faults to leave out.
    """

    seed: int
    store: str = MEMORY
    steps: int = 150
    engines: int = 3
    clients: int = 3
    without: frozenset[str] = frozenset()


class Result(Struct):
    """The result of a run."""

    plan: Plan
    history: History
    findings: list[Finding]
    struck: dict[str, int]
    counts: dict[str, int]
    trace: list[Event]


class Process(Place):
    """One engine, until it is killed."""

    store: Store
    gantt: Gantt

    def open(self, shared: Shared, options: EngineOptions) -> None:
        """Wait until it ends."""
        while True:
            self.store = shared.store(self)
            try:
                self.gantt = Gantt(
                    self.store,
                    options,
                    clock=self.clock,
                    rng=random.Random(self.name),
                    standard_names=STANDARD,
                    threads=SimThreads(self.world, self),
                )
            except GanttError as error:
                self.world.tell(f"cannot start: {error}")
                shared.cut(self, self.store)
                self.world.wait((self, "start"), 0.5)
            else:
                return


class Run:
    """The run of one Plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = World(plan.seed)
        self.faults = FaultSchedule(plan.seed, plan.without)
        self.history = History()
        self._rng = random.Random(f"{plan.seed} run")
        self._pins = plan.seed % 2 == 1
        is_memory = plan.store in (MEMORY, GALERA)
        options = StoreOptions(
            # Lock requests to a real database are repeated: 0 means forever on
            # PostgreSQL.
            lock_timeout_s=10.0 if is_memory else 0.01,
            tail_limit=self._rng.choice((3, 50_000, 50_000)),
        )
        if is_memory:
            galera = plan.store == GALERA
            self.shared: Shared = InMemory(self.world, options, is_galera=galera)
        else:
            self.shared = OnDatabase(plan.store, options)
        self._steps_left = plan.steps
        self._processes: dict[str, Process] = {}
        self._committer_counts: dict[str, int] = {}

    def go(self) -> Result:
        """Run to the end, and check."""
        self.world.spawn(self._direct, "director")
        try:
            self.world.run()
        except Stuck as stuck:
            self.history.problems.append(f"the run stands still: {stuck}")
        self.history.log = self.shared.log()
        self.history.tables = self.shared.tables()
        self.shared.close()
        return Result(
            self.plan,
            self.history,
            check(self.history),
            dict(self.faults.struck),
            self._committer_counts,
            self.world.trace,
        )

    # -- actors -------------------------------------------------------------------

    def _direct(self) -> None:
        """Start all, and check the result when they have ended."""
        slots = [
            self.world.spawn(lambda n=name: self._keep_alive(n), f"keeper {name}")  # type: ignore[misc]
            for name in "abcdefgh"[: self.plan.engines]
        ]
        for slot in slots:
            while not slot.is_done:
                self.world.wait(slot)
        self.faults.is_clear = True
        self.world.tell("the faults clears")
        for process in self._processes.values():
            if process.is_dead:  # killed after all its clients had ended
                self.shared.cut(process, process.store)
            else:
                self._look_at_the_end(process)

    def _keep_alive(self, slot: str) -> None:
        """One process after the other, each until it is killed or the run ends."""
        rng = random.Random(f"{self.plan.seed} keeper {slot}")
        options = self._options(rng)
        number = 0
        while self._steps_left > 0:
            number += 1
            process = Process(f"{slot}{number}", self.world, self.faults)
            self._processes[slot] = process
            self._start(process, options)
            clients = range(0 if process.is_dead else self.plan.clients)
            actors = [
                self.world.spawn(self._client(process, n), f"{process}/{n}", process)
                for n in clients
            ]
            for actor in actors:
                while not actor.is_done:
                    self.world.wait(actor)
            if not process.is_dead:
                return
            while left := self.world.alive_on(process):
                self.world.wait(left[0])
            self.shared.cut(process, process.store)
            del self._processes[slot]
            self.world.wait((slot, "restart"), rng.uniform(0.1, 2.0))

    def _start(self, process: Process, options: EngineOptions) -> None:
        actor = self.world.spawn(
            lambda: process.open(self.shared, options), f"{process}/start", process
        )
        while not actor.is_done:
            self.world.wait(actor)

    def _options(self, rng: random.Random) -> EngineOptions:
        base = EngineOptions()
        return replace(
            base,
            freshness=rng.choice(("strict", "strict", "bounded")),
            batch_size=rng.choice((1, 3, 128)),
            planning_ms=rng.choice((0, 50)),
            sweep_s=rng.choice((0.5, 1.0, 5.0)),
            scheduler=SchedulerOptions(use_placement="always"),
            usage_sample_s=0,  # no law is about the usage history
            commit_attempts=rng.choice((2, 10)),
        )

    def _client(self, process: Process, number: int) -> Callable[[], None]:
        def live() -> None:
            rng = random.Random(f"{self.plan.seed} client {process} {number}")
            workload = Workload(rng, pins=self._pins)
            seen = Snapshot(empty_tables())
            is_first = True
            while self._steps_left > 0:
                self._steps_left -= 1
                self.world.wait(("thinks", process, number), rng.expovariate(100))
                kind = rng.random()
                if is_first or kind < 0.3:
                    seen, is_first = self._read(process, seen), False
                elif kind < 0.32:
                    self._compact(process, rng.choice((5, 20)))
                else:
                    self._write(process, workload.next(seen))

        return live

    # -- what clients do ----------------------------------------------------------

    def _write(self, process: Process, command: Any) -> None:
        ops, world = self.history.ops, self.world
        op = Op(len(ops), process.name, command, world.tick)
        ops.append(op)
        world.tell(f"{op.request_id} asks {_short(command)}")
        try:
            op.answer = process.gantt.submit(command, op.request_id)
            op.outcome = "ok"
        except StoreFailed as error:
            op.outcome, op.error, op.text = "unknown", "StoreFailed", str(error)
        except GanttError as error:
            op.outcome, op.error, op.text = "refused", type(error).__name__, str(error)
        except Exception as error:
            op.outcome, op.error, op.text = "broken", type(error).__name__, repr(error)
        op.ended = world.tick
        if process.gantt.counts()["foreign_writes"]:
            self.history.problems.append(f"{process} saw a foreign write")
        world.tell(f"{op.request_id} hears {op.outcome} {op.error} {op.text}".rstrip())

    def _read(self, process: Process, before: Snapshot) -> Snapshot:
        world, began = self.world, self.world.tick
        try:
            cursor, tables = process.gantt.read(_everything)
        except StoreFailed as error:
            world.tell(f"reads nothing: {error}")
            return before
        self.history.reads.append(
            Read(
                number=len(self.history.reads),
                process=process.name,
                invoked=began,
                ended=world.tick,
                cursor=cursor,
                tables=tables,
                is_strict=process.gantt._options.freshness == "strict",
            )
        )
        world.tell(f"reads revision {cursor.revision}")
        return Snapshot(tables)

    def _compact(self, process: Process, keep: int) -> None:
        try:
            dropped = process.store.compact(keep)
        except StoreFailed as error:
            self.world.tell(f"compaction failed: {error}")
        else:
            self.world.tell(f"compaction dropped {dropped} revisions")

    # -- the end ------------------------------------------------------------------

    def _look_at_the_end(self, process: Process) -> None:
        """Without faults, everything must work."""
        process.paused_until = 0.0
        try:
            self._read(process, Snapshot(empty_tables()))
            for problem in process.gantt.verify().problems:
                self.history.problems.append(f"verify of {process}: {problem}")
            counts = process.gantt.counts()
            for name in ("aborts", "unknown_outcomes", "reloads", "batches"):
                so_far = self._committer_counts.get(name, 0)
                self._committer_counts[name] = so_far + int(counts[name])
            process.gantt.close()
        except Exception as error:
            self.history.problems.append(f"{process} at the end: {error!r}")


def _everything(state: State) -> tuple[Cursor, Tables]:
    return state.cursor, {
        table: {key_of(row): row for row in state.rows(table)} for table in ROW_TYPES
    }


def _short(command: Any) -> str:
    text = repr(command)
    return text if len(text) < 400 else text[:400] + "…"
