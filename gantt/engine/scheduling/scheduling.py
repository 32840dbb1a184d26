"""The scheduler's methods of the library: decide on the columns, claim at the
committer.

Apart from the engine because it adds what a decision needs and the books do not: a
driver, records of decisions, and another try when every place of a claim was lost.
"""

from __future__ import annotations

import logging
import random
import uuid as uuids
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.scheduling.records import Recorded, Records
from gantt.engine.scheduling.resource_tracker import ResourceTracker
from gantt.errors import ClaimLost, NoValidHost, PluginFailed
from gantt.model import commands as c
from gantt.model.answers import Claimed
from gantt.model.scheduling import Selections
from gantt.model.selection import Capacity, Decision, Why
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import amount_source
from gantt.scheduler import cycle
from gantt.scheduler.cycle import Picks
from gantt.scheduler.drivers import driver_of
from gantt.scheduler.explain.capacity import capacity
from gantt.scheduler.explain.why import Scoreboard
from gantt.scheduler.feasibility.feasible_hosts import skips_filters
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.policy import policy_of
from gantt.scheduler.request.exact_fit import unjudged
from gantt.scheduler.request.job import Job
from gantt.scheduler.selection.attempt import names
from gantt.state.state import State

LOG = logging.getLogger(__name__)
# What is settled when an engine is opened.
_FIXED = (
    *("placement", "placement_token", "placement_timeout_s", "placement_lease_s"),
    *("use_placement", "records", "kept_changes"),
    *("shared_records", "shared_backlog", "shared_scores"),
)
T = TypeVar("T")
P = ParamSpec("P")


class Chosen(Struct, frozen=True):
    """What was decided under the lock, and at which revision."""

    picks: Picks
    claim: c.Claim
    draft: Decision
    board: Scoreboard


class _Notices:
    """What operators should know of requests, said once: what nobody judges, and what
    a host may refuse therefore."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def of(self, spec: RequestSpec, options: SchedulerOptions) -> None:
        asked = () if skips_filters(spec) else options.enabled_filters
        for name, text in unjudged(spec, asked):
            if name not in self._said:
                self._said.add(name)
                LOG.warning("%s", text)


class Scheduling(ResourceTracker, Recorded):
    """Where things run, for whoever can ``read``, ``glance`` and ``submit``."""

    def __init__(
        self,
        options: SchedulerOptions,
        clock: Clock,
        rng: random.Random,
        search_budget: int,
    ) -> None:
        """Raises Refused when an option names what does not exist."""
        self._driver = driver_of(policy_of(options))
        self._policy = options
        self._wall = clock
        self._dice = rng
        self._steps = search_budget
        self._records = Records(options.records)
        self._by_books = options.use_placement == "always"
        self._lost = 0
        self._notices = _Notices()

    @property
    @abstractmethod
    def revision(self) -> int:
        """The last durable revision that this process knows."""

    @abstractmethod
    def glance(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``read``, but only refusals wait to be durable; the committer checks
        others."""

    @abstractmethod
    def recall(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer of the State as it stands in this process, without catching up."""

    def decide_by(self, options: SchedulerOptions) -> None:
        """Decide by ``options`` from now on, all but those of ``_FIXED``. Raises
        Refused, and then nothing changes."""
        kept = {name: getattr(self._policy, name) for name in _FIXED}
        wanted = replace(options, **kept)
        if wanted != self._policy:
            self._driver = driver_of(policy_of(wanted))
            self._policy = wanted

    # -- where things run ---------------------------------------------------------

    def schedule(self, request: ScheduleRequest) -> Selections:
        request = self._judged(request)
        self._notices.of(request.spec, self._policy)
        self._turn_to_books()
        if request.dry_run or not request.is_claiming:
            decision = self._decided(request)
            if decision.failure is not None:
                raise NoValidHost(decision.failure, decision.why)
            return decision.chosen
        with _noted(self, request):
            return self._place(request)

    def _place(self, request: ScheduleRequest) -> Selections:
        """Pick hosts and claim them."""
        for attempt in range(1, self._policy.claim_attempts + 1):
            started = self._wall.monotonic()
            chosen = self._choose(request)
            decided = self._wall.monotonic()
            try:
                claimed = self.submit(chosen.claim, request.request_id)
            except ClaimLost as lost:
                LOG.info("all places of an instance were lost, retrying: %s", lost)
                reason = lost
                self._lost += 1
                continue
            timings = {
                "decide": decided - started,
                "claim": self._wall.monotonic() - decided,
            }
            try:
                return self._conclude(request, chosen, claimed, attempt, timings)
            except BaseException as error:
                # The host was deleted since, or a plug-in's limits failed.
                self._give_up(request, claimed)
                if not isinstance(error, ClaimLost):
                    raise
                reason = error
        raise self._refused(
            request,
            NoValidHost(
                f"No valid host was found. In {self._policy.claim_attempts} attempts "
                f"concurrent claims won each time; last reason: {reason}"
            ),
        )

    def _give_up(self, request: ScheduleRequest, claimed: Claimed) -> None:
        """End a claim that is not answered with, whatever became of its hosts."""
        placed = zip(names(request), claimed.generations, strict=True)
        self.submit(c.ReleaseClaim(claimed.claim, tuple(placed)))

    def decide(self, request: ScheduleRequest) -> Decision:
        request = self._judged(request)
        self._notices.of(request.spec, self._policy)
        self._turn_to_books()
        return self._decided(replace(request, dry_run=True))

    def _decided(self, request: ScheduleRequest) -> Decision:
        """Nothing claimed; what is kept has the scores of a few hosts, not of all."""
        with _noted(self, request):
            found = self._decision(request)
        kept = found.scores[: self._policy.record_hosts]
        self._records.add(replace(found, scores=kept))
        return found

    def _decision(self, request: ScheduleRequest) -> Decision:
        started = self._wall.monotonic()
        try:
            job = self._ready(request.spec, request.request_id)
        except NoValidHost as refusal:
            return _failed(request, refusal, 0, self._wall.now(), self._driver.name)
        found = self.read_long(self._decide, request, job)
        return replace(found, timings={"decide": self._wall.monotonic() - started})

    def _ready(self, spec: RequestSpec, request_id: str = "") -> Job | None:  # noqa: ARG002
        """What of a request is found out before the columns are locked, because others
        are asked; None: nothing is. Raises NoValidHost, Invalid."""
        return None

    def capacity(self, spec: RequestSpec) -> Capacity:
        spec = self._judged_spec(spec)
        self._notices.of(spec, self._policy)
        self._turn_to_books()
        found = self.read_long(
            capacity,
            spec,
            self._driver,
            now=self._wall.now(),
            by_books=self._by_books,
            budget=self._steps,
            job=self._ready(replace(spec, num_instances=1)),
            pause=self.rest,
        )
        self._records.note_change(found)
        return found

    def scheduling_counts(self) -> dict[str, float]:
        """What was decided so far, by name; for metrics."""
        return {
            **self._records.counts(),
            **self._tracker_counts(),
            "claims_lost": self._lost,
            "shapes_kept": self._driver.kept,
            "shape_hits": self._driver.hits,
            "shape_misses": self._driver.misses,
        }

    # -- how ----------------------------------------------------------------------

    def _choose(self, request: ScheduleRequest) -> Chosen:
        claim, started = str(uuids.uuid4()), self._wall.monotonic()
        try:
            return self.glance_long(self._pick, request, claim)
        except NoValidHost as refusal:
            took_s = self._wall.monotonic() - started
            raise self._refused(request, refusal, took_s) from None

    def _pick(
        self,
        state: State,
        request: ScheduleRequest,
        claim: str,
        job: Job | None = None,
    ) -> Chosen:
        now = self._wall.now()
        picks = self._choose_on(state, request, now, job)
        command = cycle.claim_of(request, picks, claim)
        board = Scoreboard(state, picks.field, now, self._policy.record_hosts)
        return Chosen(
            picks, command, _draft(state, request, picks, now, self._driver.name), board
        )

    def _choose_on(
        self, state: State, request: ScheduleRequest, now: int, job: Job | None
    ) -> Picks:
        return cycle.choose(
            state,
            request,
            self._driver,
            now=now,
            by_books=self._by_books,
            rng=self._dice,
            budget=self._steps,
            job=job,
            pause=self.rest,
        )

    def _turn_to_books(self) -> None:
        """Ask whether inventory decides amounts by now: "auto" turns once, for good."""
        if self._by_books or self._policy.use_placement != "auto":
            return
        stage = self.glance(amount_source.stage)
        if stage == "ready":
            self._by_books = self.submit(c.TurnToBooks())
        else:
            self._by_books = stage == "books"
        if self._by_books:
            LOG.info("every enabled host has inventory: amounts come from the books")

    def _decide(
        self, state: State, request: ScheduleRequest, job: Job | None
    ) -> Decision:
        """The whole record, nothing claimed."""
        now = self._wall.now()
        try:
            picks = self._choose_on(state, request, now, job)
        except NoValidHost as refusal:
            return _failed(request, refusal, state.revision, now, self._driver.name)
        return replace(
            _draft(state, request, picks, now, self._driver.name),
            scores=Scoreboard(state, picks.field, now, None).scores(),
            chosen=cycle.tell(state, request, picks, now),
        )

    def _conclude(
        self,
        request: ScheduleRequest,
        chosen: Chosen,
        claimed: Claimed,
        attempt: int,
        timings: dict[str, float],
    ) -> Selections:
        found = self.recall(cycle.tell, request, chosen.picks, chosen.draft.at, claimed)
        record = replace(chosen.draft, chosen=found, attempts=attempt, timings=timings)
        self._records.add(record, chosen.board)
        return found

    def _refused(
        self, request: ScheduleRequest, refusal: NoValidHost, took_s: float = 0.0
    ) -> NoValidHost:
        now = self._wall.now()
        found = _failed(request, refusal, self.revision, now, self._driver.name)
        self._records.add(replace(found, timings={"decide": took_s} if took_s else {}))
        return refusal


@contextmanager
def _noted(at: Scheduling, request: ScheduleRequest) -> Iterator[None]:
    """A plug-in that fails shows in the records, by its name."""
    try:
        yield
    except PluginFailed as failed:
        now, driver = at._wall.now(), at._driver.name
        record = _failed(request, failed, at.revision, now, driver)
        at._records.add(record, is_decided=False)
        raise


def _draft(
    state: State, request: ScheduleRequest, picks: Picks, at: int, driver: str
) -> Decision:
    return Decision(
        request.request_id,
        request.instance_uuids or (),
        request.spec.project_id or request.project_id,
        state.revision,
        at,
        driver,
        len(picks.field.all_rows),
        picks.field.steps,
        (),
        is_dry_run=request.dry_run,
    )


def _failed(
    request: ScheduleRequest,
    refusal: NoValidHost | PluginFailed,
    revision: int,
    at: int,
    driver: str,
) -> Decision:
    told = refusal.why if isinstance(refusal, NoValidHost) else None
    why = told if isinstance(told, Why) else None
    return Decision(
        request.request_id,
        request.instance_uuids or (),
        request.spec.project_id or request.project_id,
        revision,
        at,
        driver,
        why.steps[0].before if why and why.steps else 0,
        why.steps if why else (),
        (),
        why=why,
        failure=refusal.message,
        is_dry_run=request.dry_run,
    )
