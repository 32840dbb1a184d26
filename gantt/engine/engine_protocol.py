"""What a door may use of the engine, as a type.

Besides the library's own methods: reads and writes by query and command, and health and
metrics. ``Gantt`` implements it; tests of a door may use something smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, TypeVarTuple

from gantt.engine.health import Totals
from gantt.engine.observer import Companion, Observer
from gantt.engine.options import EngineOptions
from gantt.engine.reading.reader import Consistency, Truncatable
from gantt.errors import GanttError
from gantt.model.advice import AdviceRequest, Order
from gantt.model.audit import GRACE_S, Audit, Kind
from gantt.model.commands import Command
from gantt.model.demand_queue import DemandsQuery, DemandView
from gantt.model.fleet_map import FleetMap
from gantt.model.operation import Operation
from gantt.model.paging import Listed
from gantt.model.placements import PlacedQuery, PlacedView
from gantt.model.protocol import GanttProtocol
from gantt.model.recent import Recent
from gantt.model.reports import Delivery, Report, ReportOutcome
from gantt.model.requests import CandidateRequest
from gantt.model.selection import Asked, DecisionPage
from gantt.model.shadow import ShadowPage, ShadowQuery
from gantt.model.watching import Snapshot
from gantt.model.whole_host import WholeHost
from gantt.state.state import State

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Found = TypeVar("Found", bound=Truncatable)


class Engine(GanttProtocol, Protocol):
    """The library and more, in this process. ``name``: of it, among those of the same
    database."""

    name: str

    @property
    def leads(self) -> bool:
        """Whether this process does what one process of a fleet does for all."""

    def read(
        self,
        query: Callable[[State, *Ts], T],
        *args: *Ts,
        consistency: Consistency = Consistency.DURABLE,
    ) -> T:
        """The answer of the pure function ``query(state, *args)``. Raises what it
        raises, and StoreFailed."""

    def read_touched(
        self,
        query: Callable[[State, *Ts], tuple[T, int]],
        *args: *Ts,
        at_once: bool = False,
    ) -> T:
        """Runs, as ``read`` does, a query that also returns when the rows that it used
        last changed (``State.applied``): the answer waits for no later change. With
        ``at_once`` it waits for nothing: raises WouldWait instead."""

    def snapshot_lines(self) -> Generator[bytes, None, None]:
        """All rows at one revision, and the policy, as the lines of a record; exhaust
        or close it. Raises StoreFailed."""

    def report_hosts(
        self, reports: Iterable[Report | bytes], *, only_host: str | None = None
    ) -> tuple[ReportOutcome, ...]:
        """See GanttProtocol. ``only_host``: reports of others are refused."""

    def take_deliveries(
        self, deliveries: Sequence[Delivery]
    ) -> tuple[ReportOutcome, ...]:
        """What became of each report, once that is durable. Each may only say what the
        token of its host may. Raises Unavailable, and some may have been applied."""

    def submit(self, command: Command[T], request_id: str = "") -> T:
        """Carry out ``command``; its answer, once it is durable. ``request_id`` "":
        that of ``bearing``. Raises the refusal of its rule, Busy, StoreFailed."""

    def bearing(self, request_id: str) -> AbstractContextManager[None]:
        """What this thread submits meanwhile, and records of it, belong to the request
        ``request_id``."""

    def search(
        self, query: Callable[..., Found], request: CandidateRequest, *args: object
    ) -> Found:
        """``query(state, request, *args, rng=, budget=)``, a search for candidates
        within this engine's budget. Raises UnknownName, BudgetSpent, StoreFailed."""

    def decision_page(self, asked: Asked, after: str = "") -> DecisionPage:
        """Records of decisions, the latest first: a page, and where the next begins.
        ``after``: the ``next`` of the page before. Raises Invalid."""

    def placement_page(self, query: PlacedQuery) -> Listed[PlacedView]:
        """What was placed by name: a page, and where the next begins. Raises
        Invalid."""

    def demand_page(self, query: DemandsQuery) -> Listed[DemandView]:
        """Demands that wait, or waited: a page, and where the next begins. Raises
        Invalid."""

    def answer(self, one: Operation, /, *args: object, **kwargs: object) -> object:
        """What the method of a row returns; of a long list, its page. Raises Invalid,
        and what the method raises."""

    def audit(
        self,
        *,
        grace_s: float = GRACE_S,
        limit: int = 1000,
        kinds: Iterable[Kind] = (),
        host: str = "",
        after: str = "",
        max_age_s: float = 0.0,
    ) -> Audit:
        """See GanttProtocol. ``after``: only findings beyond the ``next`` of an earlier
        answer; ``max_age_s``: the last answer of this process will do if it is no
        older, so that however many ask together they cost one audit."""

    def shadow_page(self, asked: ShadowQuery, after: str = "") -> ShadowPage:
        """Shadow records, the latest first: a page, likewise. Raises Invalid."""

    def order_hosts(self, request: AdviceRequest) -> Order:
        """Gives advice as ``advise`` does, not yet written as its caller wants it."""

    def fleet_map(self, after: str | None = None) -> FleetMap:
        """All hosts as columns. ``after``: the place of an earlier answer: only the
        hosts that changed since, or all again if that cannot be told. Raises Invalid,
        StoreFailed."""

    def whole_host(self, host: str, node: str | None = None) -> WholeHost:
        """All that is known of the host, as of one moment. ``node`` None: the one of
        its name. Raises NotFound, StoreFailed."""

    def recent(self, within_s: float = 3_600.0) -> Recent:
        """What is not as it should be now, and what changed ``within_s``: the answer
        may be some seconds old. Raises Invalid, StoreFailed."""

    def claim_projects(self, claim: str) -> frozenset[str | None]:
        """The projects of a claim's instances; None: not known. Empty: it has ended."""

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""

    def identity(self) -> str:
        """Which books these are: a uuid that lasts as long as the database. Raises
        StoreFailed."""

    def snapshot(self) -> Snapshot:
        """All rows of the tables at one revision. Raises StoreFailed, also while its
        pages are read."""

    def counts(self) -> dict[str, float]:
        """What the engine has done so far, by name; for metrics."""

    def keeping_up(self) -> dict[str, float]:
        """How far this process is behind, as far as it knows; for metrics."""

    def totals(self) -> Totals:
        """Capacity and use of all providers, and the states of hosts, as last known."""

    def unready(self) -> str:
        """Why the engine is not ready; "": it knows all commits."""

    def notice(self) -> str:
        """What operators should know although the engine is ready; "": nothing."""

    def is_logged(self, error: GanttError) -> bool:
        """Whether ``error`` is part of an outage that is logged already."""

    def observe(self, observer: Observer) -> None:
        """Report operations and their durations to ``observer`` from now on."""

    def accompany(self, companion: Companion) -> None:
        """Tell what ``companion`` counts and notices from now on, too."""

    def retune(self, options: EngineOptions) -> None:
        """Take over what may change while this runs. Raises Refused, and then nothing
        changes."""
