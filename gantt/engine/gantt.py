"""The engine, and the library's public class: a façade over the parts that it composes.

Every part gets exactly what it uses: ``Reader`` and ``Committer`` are the two ways to
the State; ``Books``, ``FleetMethods``, ``CandidateSearch`` and ``Scheduling`` use
these; ``Background`` is what runs beside requests.
"""

from __future__ import annotations

import os
import random
import socket
import uuid as uuids
from collections.abc import Callable, Generator
from functools import wraps
from operator import attrgetter
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, TypeVarTuple

from gantt.engine import table_check as verifying
from gantt.engine.advice.advisor import Advising
from gantt.engine.audit_methods import Auditing
from gantt.engine.background.background import Background
from gantt.engine.background.heartbeats import Heartbeats
from gantt.engine.background.usage_recorder import UsageRecorder
from gantt.engine.books import Books
from gantt.engine.clock import BooksClock, Clock, SystemClock
from gantt.engine.clock_watch import ClockWatch
from gantt.engine.commit.committer import Committer
from gantt.engine.fleet_map_methods import FleetMapMethods
from gantt.engine.fleet_methods import FleetMethods
from gantt.engine.health import Health
from gantt.engine.log_watch import Watching
from gantt.engine.observer import Observer
from gantt.engine.options import EngineOptions
from gantt.engine.place_methods import Placing
from gantt.engine.reading.log_tailer import LogTailer, load_state
from gantt.engine.reading.reader import CandidateSearch, Consistency, Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import Rest
from gantt.engine.recent_methods import RecentMethods
from gantt.engine.recording.recorder import Recording
from gantt.engine.recording.snapshot_lines import snapshot_lines, snapshot_of
from gantt.engine.report_intake import Reporting
from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.scheduling.capacity_methods import Planning
from gantt.engine.scheduling.claim_methods import ClaimMethods
from gantt.engine.scheduling.decider import Scheduling
from gantt.engine.scheduling.plugin_threads import PluginThreads
from gantt.engine.scheduling.records import Records
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.engine.scheduling.remote_claims import RemoteClaims
from gantt.engine.scheduling.remote_placement import RemotePlacement
from gantt.engine.scheduling.settlement import Settlement
from gantt.engine.scheduling.state_access import StateAccess
from gantt.engine.scheduling_cycle import SchedulingCycle
from gantt.engine.shadow.nova_comparison import Shadow
from gantt.engine.table_check import Verifying
from gantt.engine.takeover_methods import Takeovers
from gantt.engine.threads import SystemThreads, Threads
from gantt.engine.uuids import new_uuid
from gantt.engine.waiting_methods import WaitingDemands
from gantt.engine.whole_fleet import WholeFleet
from gantt.errors import Refused
from gantt.model import commands as c
from gantt.model.operation import Operation
from gantt.model.operations import OPERATIONS, Library
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.state.state import State
from gantt.store.interface import HEARTBEATS, SHADOWS, Store

A = TypeVar("A")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
P = ParamSpec("P")
Part = TypeVar("Part")


def _of(
    part: str, method: Callable[Concatenate[Part, P], T]
) -> Callable[Concatenate[Gantt, P], T]:
    """``method`` of the part in the attribute ``part``, as a method of the engine."""
    find = attrgetter(f"{part}.{method.__name__}")

    @wraps(method)
    def delegate(gantt: Gantt, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = find(gantt)(*args, **kwargs)
        return answer

    return delegate


def _named(engine: type[Gantt]) -> type[Gantt]:
    """Let delegated methods bear the engine's names for them, as errors show them."""
    for name, method in vars(engine).items():
        if hasattr(method, "__wrapped__"):
            method.__name__, method.__qualname__ = name, f"{engine.__name__}.{name}"
    return engine


class _Parts:
    """The parts of an engine, each made of what it uses."""

    _store: Store
    _options: EngineOptions
    _checks: Checks
    _remote: RemoteClaims | None
    _recording: Recording | None = None

    def _record(
        self, process: str, clock: BooksClock, threads: Threads, rng: random.Random
    ) -> None:
        """Record decisions, and all that they see, from now on."""
        options = self._options
        if options.recording.record:
            self._recording = self._scheduling.recording = Recording(
                store=self._store,
                replica=self._replica,
                options=options.recording,
                search_budget=options.search_budget,
                process=process,
                clock=clock,
                threads=threads,
                rng=rng,
            )

    def _open(self, clock: BooksClock, threads: Threads) -> Driver:
        """What reads and writes the State; the driver, which is made before threads."""
        store, options = self._store, self._options
        clock.refresh(store.now)
        self._replica = replica = Replica(
            load_state(store, options.scheduler.kept_changes),
            threads,
            stamp=store.stamp(),
        )
        verifying.compare_fingerprints(store, replica.state)
        self._log_tailer = LogTailer(
            store, replica, options, clock=clock, threads=threads
        )
        self._rest = Rest(replica, clock, options.search_slice_ms / 1000)
        self._reader = Reader(replica, self._log_tailer, self._rest)
        checks = self._checks
        self._plugins = PluginThreads(replica, self._rest, clock, threads, checks)
        policy = policy_of(options.scheduler, self._plugins)
        driver = driver_of(policy, self._plugins)
        self._committer = Committer(
            store,
            replica,
            self._log_tailer,
            options,
            clock=clock,
            threads=threads,
            new_uuid=new_uuid,
        )
        return driver

    def _compose(
        self, driver: Driver, clock: BooksClock, threads: Threads, rng: random.Random
    ) -> None:
        """What the methods below are made of."""
        reader, committer, checks = self._reader, self._committer, self._checks
        options, remote = self._options, self._remote
        self._watching = Watching(
            self._store, self._replica, self._log_tailer, clock=clock, threads=threads
        )
        self._verifying = Verifying(self._store, self._replica, self._log_tailer, clock)
        self._health = Health(reader, self._log_tailer, checks, clock, threads)
        self._clock_watch = ClockWatch(clock, checks, self._store.now)
        self._health.accompany(self._clock_watch)
        self._books = Books(reader, committer)
        self._candidates = CandidateSearch(reader, options.search_budget, clock, rng)
        access = StateAccess(reader, committer, checks, clock)
        self._fleet = FleetMethods(access)
        self._whole_fleet = WholeFleet(access, self._store)
        number = f"{rng.getrandbits(64):x}"
        self._mapping = FleetMapMethods(access, self._replica, number)
        timeout_s = options.scheduler.placement_timeout_s
        settlement = Settlement(access, remote, timeout_s)
        self._claims = ClaimMethods(access, settlement)
        placement = None
        if remote is not None:
            placement = RemotePlacement(
                reader, committer, clock, remote, self._claims, settlement
            )
        self._scheduling = Scheduling(
            reader=reader,
            committer=committer,
            checks=checks,
            driver=driver,
            plugins=self._plugins,
            clock=clock,
            rng=rng,
            threads=threads,
            options=options,
            remote=placement,
        )
        self._compose_rest(access, clock, threads, rng)

    def _compose_rest(
        self,
        access: StateAccess,
        clock: BooksClock,
        threads: Threads,
        rng: random.Random,
    ) -> None:
        """What is made of the parts that decide, or stands beside them."""
        options, remote, checks = self._options, self._remote, self._checks
        self._cycle = SchedulingCycle(self._scheduling)
        turn, wait_s = threads.lock(), options.answer_timeout_s
        self._placing = Placing(access, self._scheduling, turn, wait_s)
        self._waiting = WaitingDemands(access, self._placing, self._replica)
        self._heartbeats = Heartbeats(
            access,
            self._store.beside(HEARTBEATS),
            threads=threads,
            is_on=options.heartbeats,
            withholds_reports=self._health.withholds_reports,
        )
        self._reporting = Reporting(
            access,
            clock_watch=self._clock_watch,
            heartbeats=self._heartbeats,
            needs=lambda: self._scheduling.needs().digest,
        )
        self._auditing = Auditing(access, self._scheduling.records, threads)
        self._takeovers = Takeovers(access, self._scheduling.records)
        self._shadow = Shadow(
            scheduling=self._scheduling,
            reader=self._reader,
            replica=self._replica,
            options=options.shadow,
            table=self._store.beside(SHADOWS),
            clock=clock,
            threads=threads,
            remote=None if remote is None else remote.books,
        )
        self._recent = RecentMethods(access, self._scheduling, threads)
        self._planning = Planning(
            self._scheduling,
            checks,
            options.search_budget,
            self._store.usage_history,
        )
        self._advising = Advising(
            self._scheduling, checks, options, rng, threads, self._shadow
        )


@_named
class Gantt(_Parts, Library):
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
        time, threads = BooksClock(clock or SystemClock()), threads or SystemThreads()
        rng = rng or random.SystemRandom()
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuids.uuid4().hex[:8]}"
        self._store, self._options = store, options
        self._is_closed = False
        self._checks = Checks(options.scheduler)
        self._remote = _remote_claims(remote, options.scheduler, time, rng, threads)
        driver = self._open(time, threads)
        self._compose(driver, time, threads, rng)
        _add_names(self._committer, standard_names)
        self._record(self.name, time, threads, rng)
        self._background = Background(
            store=store,
            replica=self._replica,
            log_tailer=self._log_tailer,
            reader=self._reader,
            claims=self._claims,
            records=self._scheduling.records,
            tasks=(
                *self._waiting.leader_tasks(),
                *self._shadow.leader_tasks(),
                *self._heartbeats.leader_tasks(),
            ),
            options=options,
            look=self._clock_watch.look,
            name=self.name,
            clock=time,
            threads=threads,
        )

    # -- the two ways to the State -----------------------------------------------------

    def read(
        self,
        query: Callable[[State, *Ts], T],
        *args: *Ts,
        consistency: Consistency = Consistency.DURABLE,
    ) -> T:
        """The answer of the pure function ``query(state, *args)``. Raises what it
        raises, and StoreFailed."""
        return self._reader.read(query, *args, consistency=consistency)

    def _perform(self, one: Operation, args: Any, kwargs: Any) -> Any:
        """See Library: the method of the part that has it."""
        return _FOUND[one.name](self)(*args, **kwargs)

    def answer(self, one: Operation, /, *args: object, **kwargs: object) -> object:
        """What the method of a row returns; of a long list, its page."""
        return _FOUND[one.page or one.name](self)(*args, **kwargs)

    submit = _of("_committer", Committer.submit)
    bearing = _of("_committer", Committer.bearing)
    read_touched = _of("_reader", Reader.read_touched)

    # -- the library: what GanttProtocol documents -------------------------------------

    list_providers = _of("_books", Books.list_providers)
    get_provider = _of("_books", Books.get_provider)
    create_provider = _of("_books", Books.create_provider)
    update_provider = _of("_books", Books.update_provider)
    delete_provider = _of("_books", Books.delete_provider)
    get_inventories = _of("_books", Books.get_inventories)
    set_inventories = _of("_books", Books.set_inventories)
    set_inventory = _of("_books", Books.set_inventory)
    delete_inventory = _of("_books", Books.delete_inventory)
    delete_inventories = _of("_books", Books.delete_inventories)
    get_usages = _of("_books", Books.get_usages)
    total_usages = _of("_books", Books.total_usages)
    get_aggregates = _of("_books", Books.get_aggregates)
    set_aggregates = _of("_books", Books.set_aggregates)
    get_traits = _of("_books", Books.get_traits)
    set_traits = _of("_books", Books.set_traits)
    list_traits = _of("_books", Books.list_traits)
    create_trait = _of("_books", Books.create_trait)
    delete_trait = _of("_books", Books.delete_trait)
    list_resource_classes = _of("_books", Books.list_resource_classes)
    create_resource_class = _of("_books", Books.create_resource_class)
    delete_resource_class = _of("_books", Books.delete_resource_class)
    get_allocations = _of("_books", Books.get_allocations)
    set_allocations = _of("_books", Books.set_allocations)
    delete_allocations = _of("_books", Books.delete_allocations)
    get_provider_allocations = _of("_books", Books.get_provider_allocations)
    reshape = _of("_books", Books.reshape)

    search = _of("_candidates", CandidateSearch.search)
    find_candidates = _of("_candidates", CandidateSearch.find_candidates)
    explain_candidates = _of("_candidates", CandidateSearch.explain_candidates)

    update_host = _of("_fleet", FleetMethods.update_host)
    report_hosts = _of("_reporting", Reporting.report_hosts)
    take_deliveries = _of("_reporting", Reporting.take_deliveries)
    set_fleet = _of("_whole_fleet", WholeFleet.set_fleet)
    feed_turn = _of("_whole_fleet", WholeFleet.feed_turn)
    fleet_map = _of("_mapping", FleetMapMethods.fleet_map)
    whole_host = _of("_mapping", FleetMapMethods.whole_host)
    recent = _of("_recent", RecentMethods.recent)

    schedule = _of("_cycle", SchedulingCycle.schedule)
    decide = _of("_scheduling", Scheduling.decide)
    order_hosts = _of("_advising", Advising.order_hosts)
    placement_page = _of("_placing", Placing.placement_page)
    demand_page = _of("_waiting", WaitingDemands.demand_page)
    claim_projects = _of("_claims", ClaimMethods.claim_projects)
    expire_claims = _of("_claims", ClaimMethods.expire)
    decision_page = _of("_scheduling.records", Records.decision_page)

    audit = _of("_auditing", Auditing.audit)

    shadow_page = _of("_shadow", Shadow.shadow_page)

    events = _of("_watching", Watching.events)
    watch = _of("_watching", Watching.watch)
    snapshot = _of("_watching", Watching.snapshot)

    def snapshot_lines(self) -> Generator[bytes, None, None]:
        """All rows at one revision, and the policy, as the lines of a record; exhaust
        or close it. Raises StoreFailed."""
        return snapshot_lines(
            snapshot_of(self._store, self._replica),
            self._scheduling.options,
            self._options.search_budget,
            process=self.name,
            at=self._scheduling.clock.now(),
        )

    # -- for operators -----------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the books are, without the password."""
        return self._store.url

    def identity(self) -> str:
        """Which books these are: a uuid that lasts as long as the database. Raises
        StoreFailed."""
        return self._store.identity()

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""
        return self._reader.revision

    unready = _of("_health", Health.unready)
    notice = _of("_health", Health.notice)
    accompany = _of("_health", Health.accompany)
    is_logged = _of("_health", Health.is_logged)
    keeping_up = _of("_health", Health.keeping_up)
    totals = _of("_health", Health.totals)
    decide_by = _of("_scheduling", Scheduling.retune)

    def retune(self, options: EngineOptions) -> None:
        """Take over what may change while this runs: how fresh reads are, and by what
        is decided. Raises Refused, and then nothing changes."""
        self.decide_by(options.scheduler)
        self._log_tailer.keep_fresh(options)

    @property
    def leads(self) -> bool:
        """Whether this process does what one process of a fleet does for all."""
        return self._background.leads

    def observe(self, observer: Observer) -> None:
        """Report operations and their durations to ``observer`` from now on."""
        for part in (self._committer, self._candidates, self._scheduling.records):
            part.observe(observer)

    def counts(self) -> dict[str, float]:
        """What the engine has done so far, by name; for metrics."""
        reading = (self._log_tailer, self._candidates, self._watching)
        deciding = (self._committer, self._scheduling, self._advising, self._shadow)
        found: dict[str, float] = {
            "revision": self.revision,
            "queue_limit": self._options.queue_length,
            "batch_limit": self._options.batch_size,
            "tail_limit": self._options.store.tail_limit,
            "patient_limit": self._options.patient,
            "search_rests": self._rest.taken,
        }
        reports = (
            self._waiting,
            self._reporting,
            self._heartbeats,
            self._auditing,
            self._takeovers,
        )
        for part in (*reading, *deciding, *reports, self._background):
            found |= part.counts()
        if self._recording is not None:
            found |= self._recording.counts()
        return found | self._health.counts()

    def close(self) -> None:
        """Stop all threads and close the store; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._health.close()
        self._watching.close()
        self._waiting.close()
        self._heartbeats.close()
        self._background.close()
        self._shadow.close()
        self._committer.close()
        self._advising.close()
        self._scheduling.close()
        if self._recording is not None:
            self._recording.close()
        verifying.leave_fingerprint(self._store, self.revision)
        self._store.close()
        if self._remote is not None:
            self._remote.books.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Where the methods of rows are, and the pages of their lists.
PARTS: Final = {
    "_fleet": FleetMethods,
    "_whole_fleet": WholeFleet,
    "_mapping": FleetMapMethods,
    "_recent": RecentMethods,
    "_shadow": Shadow,
    "_scheduling": Scheduling,
    "_scheduling.records": Records,
    "_auditing": Auditing,
    "_takeovers": Takeovers,
    "_verifying": Verifying,
    "_planning": Planning,
    "_advising": Advising,
    "_claims": ClaimMethods,
    "_placing": Placing,
    "_waiting": WaitingDemands,
    "_background.usage": UsageRecorder,
}
_FOUND: Final = {
    name: attrgetter(f"{part}.{name}")
    for part, kind in PARTS.items()
    for one in OPERATIONS
    for name in (one.name, one.page)
    if hasattr(kind, name)
}


def _add_names(committer: Committer, names: c.SyncNames | None) -> None:
    """The first write of an engine: without it there is none to open."""
    if names is not None:
        try:
            committer.submit(names)
        except BaseException:
            committer.close()
            raise


def _remote_claims(
    books: RemoteBooks | None,
    options: SchedulerOptions,
    clock: Clock,
    rng: random.Random,
    threads: Threads,
) -> RemoteClaims | None:
    """Raises Refused when the options need other books."""
    where = options.placement
    if (books is None) != (where == "embedded"):
        raise Refused(
            f"placement of [scheduler] is {where!r}, and "
            f"{'no client for it' if books is None else books.url} was given: "
            "open the engine with gantt.connection.open_gantt, which creates one."
        )
    return None if books is None else RemoteClaims(books, clock, rng, threads)
