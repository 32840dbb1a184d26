"""One decision beside Nova's, on the State without what Nova claimed for it.

Nova's claim may be in the books already when a notification arrives. The decision looks
at copies of what the claim counts in, so that no other reader, and no commit, ever
misses it, and what is kept of earlier decisions stays valid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.decider import Scheduling
from gantt.errors import GanttError, Invalid, NoValidHost
from gantt.model.selection import Scoring
from gantt.model.shadow import Place, Ranking
from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.placement.claimed_hosts import rows_since
from gantt.placement.fleet_queries import reported_at
from gantt.scheduler.explain.ranking import ranking
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.pauses import unwritten
from gantt.scheduler.selection.picks import pick_hosts
from gantt.state.state import State
from gantt.state.supposition import without

NO_HOST: Final = "No valid host was found."


class Judged(Struct, frozen=True):
    """``picks``: Gantt's host of each instance, as far as there are any; ``failure``:
    why the next one has none. ``reported_at``: when the last report of each of these
    hosts was saved, or came. ``scoring``: of the best hosts, formatted on request.
    ``at``: when it was decided. ``is_late``: Nova's claim was there already, and could
    not be left out. ``trouble``: why nothing could be decided."""

    ranking: Ranking = Ranking()
    picks: tuple[Place, ...] = ()
    reported_at: tuple[int, ...] = ()
    failure: str | None = None
    scoring: Callable[[], Scoring] | None = None
    revision: int = 0
    at: int = 0
    took_s: float = 0.0
    is_late: bool = False
    trouble: str = ""


def judge(
    scheduling: Scheduling,
    request: ScheduleRequest,
    known: tuple[str, ...],
    since: int,
    most_scored: int,
) -> Judged:
    """Decide as ``schedule`` would, and claim nothing, on the State without what the
    instances that are ``known`` claimed since then."""
    clock, reader = scheduling.clock, scheduling.reader

    def look(state: State, request: ScheduleRequest, source: CandidateSource) -> Judged:
        gone = rows_since(state, known, since)
        seen, driver, pause = state, scheduling.driver, reader.rest
        if gone:  # what is kept, and what others write, is about the columns
            seen, driver = without(state, gone), driver.trial()
            pause = unwritten(state, pause)
        # Without chance, and of what would help others nothing is searched for.
        budget = Budget(scheduling.search_budget)
        given = seen, request, source, driver, clock.now(), budget
        selected = pick_hosts(*given, pause=pause)
        if gone:
            scheduling.driver.add_counts(driver)
        board = Scoreboard(seen, selected.feasible, clock.now(), most_scored)
        hosts = state.fleet.hosts
        picks = tuple(
            (hosts.hosts[one[0].row], hosts.nodes[one[0].row]) for one in selected.picks
        )
        return Judged(
            ranking(state, selected.feasible),
            picks,
            tuple(reported_at(state, one[0].row) for one in selected.picks),
            None if len(picks) == request.count else _too_few(len(picks), request),
            board.scoring,
            state.revision,
            is_late=bool(gone) and source.name == "remote",
        )

    began = clock.monotonic()
    try:
        request, source = scheduling.ask(request)
        query = scheduling.plugins.decided(look)
        found = reader.search(query, request, source, consistency=Consistency.ASSUMED)
    except (NoValidHost, Invalid) as refusal:
        found = Judged(failure=refusal.message, revision=reader.revision)
    except GanttError as error:
        found = Judged(trouble=error.message, revision=reader.revision)
    return replace(found, at=clock.now(), took_s=clock.monotonic() - began)


def _too_few(found: int, request: ScheduleRequest) -> str:
    if request.count == 1:
        return NO_HOST
    return (
        f"No valid host was found: {request.count} instances were asked for, {found} "
        f"{'has' if found == 1 else 'have'} a place."
    )
