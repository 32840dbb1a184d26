"""Sources of candidates: what one request may take of each host.

Three sources: the inventories of this process, the reports of hosts, and the answer of
a remote Placement. They are equal to the cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import GanttError, NoValidHost
from gantt.model.answers import Candidate
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.listing import CandidateListing
from gantt.placement.candidates.search_answer import Rows
from gantt.placement.candidates.survey import AnySurvey, FlatSurvey, survey
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import shape
from gantt.scheduler.request.job import Job, prepare
from gantt.state.column import ALL, NO_ROW, Bools
from gantt.state.state import State
from gantt.state.view import View

BOOKS: Final = "free resources"
AMOUNTS: Final = "free amounts"
LABELS: Final = "traits and aggregates"
NOTHING: Final = Candidate({}, {})


class HostMask(Struct, frozen=True, eq=False):
    """bool[n]: which hosts pass, and the name of the mask."""

    name: str
    mask: Bools


class HostCandidates:
    """What one request may take of each host, on one State. The base class takes
    nothing of every host, as for a rebuild.

    ``surveys``: answers of the local search. ``is_per_host``: the result for a host
    changes only with that host. ``trouble``: why there are none, if the source failed.
    """

    surveys: tuple[AnySurvey, ...] = ()
    is_per_host = True
    trouble = ""

    def masks(self, hosts: Hosts) -> Iterator[HostMask]:  # noqa: ARG002
        """bool[n] each: which hosts may have room."""
        yield from ()

    def certain(self, host_rows: list[int]) -> list[Candidate] | None:
        """The one candidate of each of these hosts, which passed ``masks``; None where
        a search is needed."""
        return [NOTHING] * len(host_rows)

    def of(
        self,
        host_row: int,  # noqa: ARG002
        budget: Budget,  # noqa: ARG002
        view: View | None = None,  # noqa: ARG002
    ) -> Iterator[Candidate]:
        """The candidates of a host, in the source's order, without some that need what
        is taken in ``view``: ``has_room`` tells of the others. Raises Spent."""
        yield NOTHING

    def has_room(
        self,
        view: View,  # noqa: ARG002
        uuid: str,  # noqa: ARG002
        resource_class: str,  # noqa: ARG002
        amount: int,  # noqa: ARG002
    ) -> bool:
        """Whether a provider has so much left in ``view``."""
        return True

    def part_left(
        self,
        view: View,  # noqa: ARG002
        uuid: str,  # noqa: ARG002
        resource_class: str,  # noqa: ARG002
        amount: int,  # noqa: ARG002
    ) -> float:
        """The part of a provider's capacity, 0 … 1, that is left beside ``amount``."""
        return 0.0

    def still_fits(self, hosts: Hosts) -> Bools | None:  # noqa: ARG002
        """bool[n]: which have room after this request's picks, by the columns of hosts;
        None: these do not tell."""
        return None

    def is_searched(self, hosts: Hosts) -> Bools:
        """bool[n]: hosts for which only a search determines how much fits."""
        return np.zeros(len(hosts), np.bool_)


class CandidateSource(Protocol):
    @property
    def name(self) -> str:
        """One word; sources of one name give equal answers on one State."""

    @property
    def is_lasting(self) -> bool:
        """Whether it is the same for the next request of this shape."""

    @property
    def is_stale(self) -> bool:
        """Whether another query may find more than it lists now."""

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        """The request as queries for this source. Raises Invalid, NoValidHost."""

    def candidates(
        self, state: State, job: Job, options: SchedulerOptions, budget: Budget
    ) -> HostCandidates:
        """What may be taken. Raises UnknownName."""


# -- the books of this process --------------------------------------------------------


class Stale(Exception):
    """Candidates were taken since the source listed them. From now on the source is
    stale and leaves them out: as it lists fewer each time, this is no lost attempt."""

    def __init__(self, reason: GanttError | None) -> None:
        super().__init__(str(reason))
        self.reason = reason


class BookSource:
    """Inventories and allocations of this process decide."""

    name: ClassVar[str] = "books"
    is_lasting: ClassVar[bool] = True
    is_stale: ClassVar[bool] = False

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        return prepare(state, spec, options)

    def candidates(
        self,
        state: State,
        job: Job,
        options: SchedulerOptions,  # noqa: ARG002
        budget: Budget,
    ) -> HostCandidates:
        if not job.questions:
            return HostCandidates()
        surveys = tuple(survey(state, question, budget) for question in job.questions)
        return BookCandidates(state, surveys)


class BookCandidates(HostCandidates):
    """``surveys``: at least one."""

    def __init__(self, state: State, surveys: tuple[AnySurvey, ...]) -> None:
        self._state = state
        self.surveys = surveys
        self.is_per_host = all(isinstance(one, FlatSurvey) for one in surveys)
        # One query over providers without trees: each that passed has one candidate.
        only = surveys[0] if len(surveys) == 1 else None
        self._only = only if isinstance(only, FlatSurvey) else None

    def masks(self, hosts: Hosts) -> Iterator[HostMask]:
        yield HostMask(BOOKS, self._viable(hosts))

    def _viable(self, hosts: Hosts) -> Bools:
        providers: Rows = hosts.provider.astype(np.intp)
        known = providers != NO_ROW
        if ALL(known):
            found = self.surveys[0].viable_at(providers)
            for one in self.surveys[1:]:
                found = found | one.viable_at(providers)
            return found
        found = np.zeros(len(hosts), np.bool_)
        for one in self.surveys:
            found[known] |= one.viable_at(providers[known])
        return found

    def certain(self, host_rows: list[int]) -> list[Candidate] | None:
        if self._only is None:
            return None
        providers = self._state.fleet.hosts.provider[host_rows]
        return self._only.candidates_at(providers.tolist())

    def of(
        self, host_row: int, budget: Budget, view: View | None = None
    ) -> Iterator[Candidate]:
        provider = int(self._state.fleet.hosts.provider[host_row])
        for one in self.surveys:
            yield from one.candidates(provider, budget, view)

    def has_room(self, view: View, uuid: str, resource_class: str, amount: int) -> bool:
        used, capacity = view.sums(view.slot(uuid, resource_class))
        return used + amount <= capacity

    def part_left(
        self, view: View, uuid: str, resource_class: str, amount: int
    ) -> float:
        used, capacity = view.sums(view.slot(uuid, resource_class))
        return (capacity - used - amount) / max(capacity, 1.0)

    def is_searched(self, hosts: Hosts) -> Bools:
        found = np.zeros(len(hosts), np.bool_)
        providers: Rows = hosts.provider.astype(np.intp)
        for one in self.surveys:
            found |= one.viable_at(providers) & ~one.alone_at(providers)
        return found


# -- what hosts report ----------------------------------------------------------------


class ReportSource:
    """Amounts that hosts report decide, less pending claims."""

    name: ClassVar[str] = "reports"
    is_lasting: ClassVar[bool] = True
    is_stale: ClassVar[bool] = False

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        job = prepare(state, spec, options)
        if spec.is_rebuild:
            return job
        taken = shape.resources(job.spec, options)
        return replace(job, questions=job.questions[:1], taken=type(job.taken)(**taken))

    def candidates(
        self,
        state: State,
        job: Job,
        options: SchedulerOptions,
        budget: Budget,  # noqa: ARG002
    ) -> HostCandidates:
        if not job.questions:
            return HostCandidates()
        return ReportedCandidates(state, job, options)


class ReportedCandidates(HostCandidates):
    """The claim alone stands for the amounts: a host's candidate is empty."""

    def __init__(self, state: State, job: Job, options: SchedulerOptions) -> None:
        self._state, self._job, self._options = state, job, options

    def masks(self, hosts: Hosts) -> Iterator[HostMask]:
        yield HostMask(AMOUNTS, self.still_fits(hosts))
        labeled = amounts.labeled(self._state, hosts, self._job.questions[0])
        yield HostMask(LABELS, labeled)

    def still_fits(self, hosts: Hosts) -> Bools:
        return amounts.with_room(hosts, self._job.taken)


# -- a Placement that the caller asked before -----------------------------------------


class GivenSource:
    """The caller lists hosts that have the amounts: they are not judged here."""

    name: ClassVar[str] = "given"
    is_lasting: ClassVar[bool] = True
    is_stale: ClassVar[bool] = False

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        return prepare(state, spec, options, is_remote=True)

    def candidates(
        self,
        state: State,  # noqa: ARG002
        job: Job,  # noqa: ARG002
        options: SchedulerOptions,  # noqa: ARG002
        budget: Budget,  # noqa: ARG002
    ) -> HostCandidates:
        return HostCandidates()


# -- a remote Placement ---------------------------------------------------------------


class ListedSource(Struct, frozen=True, eq=False):
    """The answer of a remote Placement for ``job``, which was made from ``spec``;
    ``listing`` omits candidates that were found to be taken since. ``segments``: their
    aggregates there."""

    spec: RequestSpec
    job: Job
    listing: CandidateListing
    is_stale: bool = False
    segments: Mapping[str, frozenset[str]] = {}

    name: ClassVar[str] = "remote"
    is_lasting: ClassVar[bool] = False

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        uuid, group = spec.instance_uuid, spec.instance_group
        if replace(self.spec, instance_uuid=uuid, instance_group=group) == spec:
            own = replace(self.job.spec, instance_uuid=uuid, instance_group=group)
            return replace(self.job, spec=own)
        # Another request: the answer is valid for the same queries only.
        job = prepare(state, spec, options, is_remote=True, listed=self.segments)
        if job.questions != self.job.questions:
            raise NoValidHost(
                "The remote Placement was not asked for candidates of this request."
            )
        return replace(job, terms=self.job.terms)

    def candidates(
        self,
        state: State,
        job: Job,  # noqa: ARG002
        options: SchedulerOptions,  # noqa: ARG002
        budget: Budget,  # noqa: ARG002
    ) -> HostCandidates:
        return ListedCandidates(state, self.listing)


class ListedCandidates(HostCandidates):
    """Hosts are found in the listing by the uuid of their provider."""

    def __init__(self, state: State, listing: CandidateListing) -> None:
        self._uuids: Sequence[str | None] = state.fleet.hosts.uuids
        self._listing = listing
        self.trouble = listing.trouble

    def masks(self, hosts: Hosts) -> Iterator[HostMask]:
        found = (self._listing.has(self._uuids[row]) for row in hosts.rows.tolist())
        yield HostMask(BOOKS, np.fromiter(found, np.bool_, len(hosts)))

    def certain(self, host_rows: list[int]) -> None:
        """The listing alone decides."""

    def of(
        self,
        host_row: int,
        budget: Budget,
        view: View | None = None,  # noqa: ARG002
    ) -> Iterator[Candidate]:
        for candidate in self._listing.of(self._uuids[host_row]):
            budget.spend()
            yield candidate

    def has_room(self, view: View, uuid: str, resource_class: str, amount: int) -> bool:
        amount += view.more(view.slot(uuid, resource_class))
        return self._listing.has_room(uuid, resource_class, amount)

    def is_searched(self, hosts: Hosts) -> Bools:
        return np.ones(len(hosts), np.bool_)


BOOK_SOURCE: Final[CandidateSource] = BookSource()
REPORT_SOURCE: Final[CandidateSource] = ReportSource()
GIVEN_SOURCE: Final[CandidateSource] = GivenSource()
