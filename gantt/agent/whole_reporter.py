"""What an agent reports where nothing is answered and only its last report may be kept:
full reports alone, each with all that there is to say.

Separate from ``reporter``, which says what changed since an answer. A report that may
be lost is not repeated once there is something newer to say.
"""

from __future__ import annotations

from typing import Final

from gantt.agent.collectors.contract import Part
from gantt.agent.reporter import (
    STEP,
    Answer,
    Fields,
    changed,
    found_fields,
    stats_of,
    without_null,
)
from gantt.model.needs import Needs
from gantt.model.reports import Report, ReportOutcome

_US: Final = 1_000_000


class WholeReporter:
    """See ``Reporter``. ``renewal_s``: a report is repeated after so long, with a new
    number, although there is no news. ``beats``: as ``Report`` has it."""

    def __init__(
        self,
        host: str,
        node: str,
        incarnation: str,
        *,
        renewal_s: float,
        constants: Fields | None = None,
        step: float = STEP,
        beats: bool = False,
    ) -> None:
        self._host = host
        self._node = node
        self._incarnation = incarnation
        self._renewal_us = int(renewal_s * _US)
        self._constants = constants or {}
        self._step = step
        self._beats = beats
        self.needs: Needs | None = None
        # The last report with fields, and these; None: the next one must be new.
        self._last: tuple[Report, Fields] | None = None
        self._sequence = 0
        self._is_known = False
        self._not_before = 0
        self._is_superseded = False

    @property
    def is_waiting(self) -> bool:
        """Whether a report must be answered before another one is made: never."""
        return False

    def next(self, part: Part, now: int) -> Report:
        """What to send: a full report where there is news, or the last one is old or
        may be lost; else one that says that nothing changed. ``now``: microseconds."""
        known = None if self._last is None else self._last[1]
        current = found_fields(part, self._constants, self.needs, known)
        if self._last is not None:
            last, fields = self._last
            is_old = now - last.taken_at >= self._renewal_us
            if not is_old and not changed(fields, current, self._step):
                if not self._is_known:
                    return last
                return self._report(now, last.sequence)
            if self._is_superseded and not is_old:
                return self._report(now, last.sequence)
        self._sequence += 1
        report = self._report(now, self._sequence, part, current)
        self._last = report, without_null(current)
        self._is_known = self._is_superseded = False
        return report

    def settle(self, outcome: ReportOutcome) -> Answer:
        """Take in the answer to what ``next`` gave."""
        if outcome.needs and self.needs and outcome.needs != self.needs.digest:
            self.needs = None
        if outcome.outcome in ("applied", "unchanged", "duplicate"):
            self._is_known = True
            return "known"
        last, self._is_known = self._last, True
        if outcome.outcome == "superseded" and last is not None:
            known_at = outcome.taken_at
            if known_at is not None and known_at >= last[0].taken_at:
                # This clock was set back: the other agent is the one before.
                self._not_before = known_at + 1
                self._last = None
                return "again"
            self._is_superseded = True
            return "superseded"
        self._last = None
        return "refused"

    def turned_away(self) -> None:
        """The service did not take in what ``next`` gave."""
        self._last = None

    def _report(
        self,
        now: int,
        sequence: int,
        part: Part | None = None,
        fields: Fields | None = None,
    ) -> Report:
        """A full one of ``fields``; None: that nothing changed."""
        needs = self.needs
        # What says all that is known serves any needs, those of later too.
        digest = "" if needs is None or needs.everything else needs.digest
        return Report(
            host=self._host,
            node=self._node,
            incarnation=self._incarnation,
            sequence=sequence,
            taken_at=max(now, self._not_before),
            full=fields is not None,
            needs=digest,
            fields=stats_of(fields or {}),
            unread=() if part is None else tuple(sorted(part.unread)),
            beats=self._beats,
        )
