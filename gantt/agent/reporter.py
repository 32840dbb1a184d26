"""What an agent says next: a full report, then what changed since the last answer.

Pure: the machine, the clock and the service are the loop's. A report whose answer was
lost is repeated as it was, so that its number never means two things; until it is
answered nothing else is said. On a topic, which answers nothing, each report says all.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from gantt.agent.collectors.contract import Part
from gantt.agent.machine import with_use
from gantt.model.hosts import HostStats
from gantt.model.needs import METRICS, Needs, needed
from gantt.model.reports import (
    NOT_NULL,
    STATS,
    Report,
    ReportOutcome,
    with_unread,
)

STEP: Final = 0.05
_US: Final = 1_000_000
Fields = dict[str, Any]
_decode: Final = msgspec.json.Decoder(Fields).decode
Answer: TypeAlias = Literal["known", "again", "superseded", "refused"]
"""``known``: the service has it; ``again``: report once more, at once; else: later."""

_LISTS: Final = frozenset({"instances", "lists_instances"})


class Reporter:
    """Reports of one host by one incarnation of its agent.

    ``renewal_s``: nothing is answered, and only the last report may be kept: each says
    all that there is to say, and is repeated after so long, with a new number, although
    there is no news. None: each is answered, and the next says what changed since.
    ``constants``: fields that no collector finds. ``step``: a metric that moved by less
    (a fraction by so much, any other by that part of it) is not news. ``beats``: as
    ``Report`` has it.
    """

    def __init__(
        self,
        host: str,
        node: str,
        incarnation: str,
        *,
        renewal_s: float | None = None,
        constants: Fields | None = None,
        step: float = STEP,
        beats: bool = False,
    ) -> None:
        self._host = host
        self._node = node
        self._incarnation = incarnation
        self._renewal_us = None if renewal_s is None else int(renewal_s * _US)
        self._constants = constants or {}
        self._step = step
        self._beats = beats
        self.needs: Needs | None = None
        self._sequence = 0
        # What the service has of this host, as of the last answer, or of the last
        # report where nothing is answered; None: not known.
        self._known: Fields | None = None
        # The last report with fields while it may be lost, and what is known after it.
        self._pending: tuple[Report, Fields] | None = None
        self._is_repeated = False
        # When the report before this moment was full; None: it was not.
        self._full_at: int | None = None
        self._not_before = 0
        self._is_superseded = False
        self._full_asked = False

    @property
    def is_waiting(self) -> bool:
        """Whether a report must be answered before another one is made."""
        return self._renewal_us is None and self._pending is not None

    def next(self, part: Part, now: int) -> Report:
        """What to send: what has no answer yet, else what is news. ``now``:
        microseconds."""
        if self._renewal_us is None and self._pending is not None:
            self._is_repeated = True
            return self._pending[0]
        current = found_fields(part, self._constants, self.needs, self._known)
        if self._renewal_us is None:
            return self._next_change(part, current, now)
        return self._next_whole(part, current, now, self._renewal_us)

    def _next_change(self, part: Part, current: Fields, now: int) -> Report:
        known = self._known
        if self._is_superseded:
            # A word now and then, until the other is gone: it costs nothing.
            fields, full = {}, False
        elif known is None:
            fields, full = current, True
        else:
            fields, full = changed(known, current, self._step), False
        self._sequence = max(1, self._sequence + bool(fields))
        # Of a list that was not made, "unchanged" would be false.
        unread = part.unread if full else part.unread & _LISTS
        report = self._report(now, fields, full=full, unread=unread)
        after = current if known is None else {**known, **fields}
        self._pending = report, without_null(after)
        self._full_at = report.taken_at if full else None
        self._is_repeated = False
        return report

    def _next_whole(
        self, part: Part, current: Fields, now: int, renewal_us: int
    ) -> Report:
        """A full report where there is news, or the last one is old; the last one where
        it may be lost; else one that says that nothing changed."""
        known, full_at = self._known, self._full_at
        is_fresh = full_at is not None and now - full_at < renewal_us
        if known is not None and (
            is_fresh
            and (self._is_superseded or not changed(known, current, self._step))
        ):
            if self._pending is not None:
                return self._pending[0]
            return self._report(now, {}, full=False)
        self._sequence += 1
        report = self._report(now, current, full=True, unread=part.unread)
        self._known = without_null(current)
        self._pending = report, self._known
        self._full_at = report.taken_at
        self._is_superseded = False
        return report

    def settle(self, outcome: ReportOutcome) -> Answer:
        """Take in the answer to what ``next`` gave."""
        is_whole = self._renewal_us is not None
        pending, self._pending = self._pending, None
        assert pending is not None or is_whole, "an answer answers a report"
        if outcome.needs and self.needs and outcome.needs != self.needs.digest:
            self.needs = None
        if outcome.outcome in ("applied", "unchanged", "duplicate"):
            if pending is not None:
                self._known = pending[1]
            # Where nothing is answered, others than the service say "applied".
            self._is_superseded = self._is_superseded and is_whole
            self._full_asked = False
            return "known"
        if outcome.outcome == "superseded":
            return self._superseded(outcome)
        self._drop(pending)
        if is_whole or not outcome.wants_full:
            return "refused"
        self._known, self._is_superseded = None, False
        asked, self._full_asked = self._full_asked, True
        return "refused" if asked else "again"

    def turned_away(self) -> None:
        """The service did not take in what ``next`` gave."""
        pending, self._pending = self._pending, None
        self._drop(pending)

    def _drop(self, pending: tuple[Report, Fields] | None) -> None:
        """Give up a report that was refused."""
        if self._renewal_us is not None:
            self._known = None
        elif pending is not None and self._is_repeated:
            # It may have been applied the first time. Another report with its number
            # would be taken for it, so the next is a full one with a higher number.
            self._known = None
        elif pending is not None:
            self._sequence -= pending[0].has_fields  # the number was not used

    def _superseded(self, outcome: ReportOutcome) -> Answer:
        known_at, full_at = outcome.taken_at, self._full_at
        if full_at is not None and known_at is not None and known_at >= full_at:
            # This clock was set back since the agent before: it is not the other one.
            self._not_before = known_at + 1
            self._known = None
            return "again"
        self._is_superseded = True
        if self._renewal_us is None:
            self._known = None
        return "superseded"

    def _report(
        self,
        now: int,
        fields: Fields,
        *,
        full: bool,
        unread: frozenset[str] = frozenset(),
    ) -> Report:
        needs = self.needs
        # What is not answered and says all serves any needs, those of later too.
        is_any = self._renewal_us is not None and needs is not None and needs.everything
        return Report(
            host=self._host,
            node=self._node,
            incarnation=self._incarnation,
            sequence=self._sequence,
            taken_at=max(now, self._not_before),
            full=full,
            needs="" if needs is None or is_any else needs.digest,
            fields=stats_of(fields),
            unread=tuple(sorted(unread)),
            beats=self._beats,
        )


def found_fields(
    part: Part, constants: Fields, needs: Needs | None, known: Fields | None
) -> Fields:
    """What is to be said of ``part``; of what could not be read, what is ``known``."""
    found = {**with_use(part.fields), **constants}
    if needs is not None:
        found = needed(found, needs)
    # As JSON has them, so that they compare with what was sent.
    found = _decode(msgspec.json.encode(found))
    if known is not None:
        for name in part.unread & known.keys():
            found.setdefault(name, known[name])
        stats = with_unread(found.get(STATS), known.get(STATS), part.unread)
        if stats is not None:
            found[STATS] = stats
    return found


def without_null(fields: Fields) -> Fields:
    """Those that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def changed(known: Fields, current: Fields, step: float) -> Fields:
    """What of ``current`` is news, and null for what is gone."""
    news = {
        name: value
        for name, value in current.items()
        if name not in known or not _is_same(name, known[name], value, step)
    }
    for name in known.keys() - current.keys():
        stand_in = _plain(NOT_NULL.get(name))
        if stand_in is not UNSET and known[name] != stand_in:
            news[name] = stand_in
    return news


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_same(name: str, known: Any, value: Any, step: float) -> bool:
    if name != METRICS or not isinstance(known, list) or not isinstance(value, list):
        return bool(known == value)
    before = {one["name"]: one for one in known}
    after = {one["name"]: one for one in value}
    return before.keys() == after.keys() and all(
        _is_near(before[metric], one, step) for metric, one in after.items()
    )


def _is_near(known: Fields, metric: Fields, step: float) -> bool:
    was, now = known.get("value"), metric.get("value")
    if was is None or now is None:
        return known == metric
    if metric["name"].endswith(".percent"):
        return bool(abs(now - was) < step)
    return bool(now == was or abs(now - was) < step * max(abs(was), abs(now)))


def stats_of(fields: Fields) -> HostStats:
    """What ``fields`` say of the host, in the form that a report has."""
    stats: HostStats = msgspec.convert(fields, HostStats)
    return stats
