"""``recent`` of the engine: what is not as it should be, and what changed lately.

Apart from ``FleetMapMethods`` because it also reads records of decisions, which are
long: an answer is kept for a few seconds, however many look at it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from gantt.engine.kept_answer import KeptAnswer
from gantt.engine.scheduling.decider import Scheduling
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.threads import Threads
from gantt.errors import Invalid
from gantt.model.paging import PAGE
from gantt.model.recent import LONGEST_S, MOST_REASONS, Recent, RefusalCount
from gantt.model.selection import Asked, Decision
from gantt.placement.recent_changes import RecentTerms, fleet_news
from gantt.version import __version__

_US: Final = 1_000_000
_KEPT_US: Final = 5 * _US
_MOST_PAGES: Final = 5
"""Of records; those before them are not counted."""
_FRESH_TIMES: Final = 2
"""A report without changes is stored when the last is ``report_age_s`` old."""


class RecentMethods(StateMethods):
    """``recent`` of the engine."""

    def __init__(
        self, state: StateAccess, scheduling: Scheduling, threads: Threads
    ) -> None:
        super().__init__(state)
        self._scheduling = scheduling
        self._kept = KeptAnswer[Recent](self._clock, threads)

    def recent(self, within_s: float = 3_600.0) -> Recent:
        """See the protocol. Raises Invalid, StoreFailed."""
        if not 0 < within_s <= LONGEST_S:
            raise Invalid(
                f"within_s must be above 0 and at most {LONGEST_S:g} seconds; got "
                f"{within_s}."
            )
        within_us = int(within_s * _US)
        return self._kept.get(
            within_s, _KEPT_US, lambda now: self._look(now, now - within_us)
        )

    def _look(self, now: int, since: int) -> Recent:
        options = self._scheduling.options
        down_after = int(options.service_down_time * _US)
        fresh_us = int(_FRESH_TIMES * options.report_age_s * _US)
        terms = RecentTerms(now, since, down_after, fresh_us)
        news = self._reader.survey(fleet_news, terms)
        records, seen_since = self._records(since)
        refused = [one for one in records if one.failure is not None]
        return Recent(
            at=now,
            since=since,
            out=news.out,
            states=news.states,
            changes=news.changes,
            changed=news.changed,
            refusals=_refusals(refused),
            placed=len(records) - len(refused),
            refused=len(refused),
            seen_since=seen_since,
            versions=news.versions,
            filters=tuple(options.enabled_filters),
            policy_since=self._scheduling.policy_since,
            version=__version__,
        )

    def _records(self, since: int) -> tuple[list[Decision], int]:
        """What was asked since, without dry runs and repairs; and since when all such
        are among these."""
        found: list[Decision] = []
        after = ""
        for _ in range(_MOST_PAGES):
            page = self._scheduling.records.decision_page(Asked(limit=PAGE), after)
            late = [one for one in page.decisions if one.at > since]
            found += late
            after = page.next
            if not after or len(late) < len(page.decisions):
                break
        else:
            since = found[-1].at
        return [
            one for one in found if not (one.is_dry_run or one.repair or one.takeover)
        ], since


def _refusals(records: list[Decision]) -> tuple[RefusalCount, ...]:
    """``records``: the latest first."""
    counts = Counter(map(cause, records))
    latest = {cause(one): one for one in reversed(records)}
    return tuple(
        RefusalCount(reason, count, latest[reason].at, latest[reason].request_id)
        for reason, count in counts.most_common(MOST_REASONS)
    )


def cause(record: Decision) -> str:
    """Why it was refused, in the same words for all that lacked the same: amounts
    without their numbers."""
    given_up = () if record.why is None else record.why.given_up
    if given_up:
        return " and ".join(
            one.text.removeprefix("ask without ")
            if one.lowered is None
            else f"less {one.names[0]}"
            for one in given_up
        )
    emptied = (one.name for one in record.steps if one.before and not one.after)
    return next(emptied, record.failure or "")
