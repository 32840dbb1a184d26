"""Decisions of all processes, through one table that each of them writes and reads.

Separate from ``records``, which has the decisions of this process in memory: here they
are written, and lookups read the table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, msgpack
from msgspec.structs import astuple, replace

from gantt.engine.clock import Clock
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.scheduling.background_writer import (
    PERIOD_S,
    BackgroundWriter,
    Noted,
    Written,
    latest,
)
from gantt.engine.scheduling.decision_record import Recorded, as_decision
from gantt.engine.threads import LeaderTask, Threads
from gantt.model.selection import (
    Asked,
    Decision,
    DecisionPage,
    DecisionPlace,
    Score,
    Scoring,
    Selection,
    Step,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import RecordPage, SharedDecision, SideTable

_AGAIN_S: Final = 2 * PERIOD_S  # a write takes a while where the database is busy
_WAITERS: Final = 8  # each occupies a thread that other requests need
_DEFAULT_KEEP: Final = SchedulerOptions().shared_records

DecisionTable = SideTable[SharedDecision, Asked, int]
Own = Callable[[Asked, str], Mapping[DecisionPlace, Noted[Recorded]]]
"""What this process, by its name, keeps of what is asked for, and one more."""


class SharedRecords:
    """Writes decisions of ``process``, a name that no other process ever has, finds
    those of all, and trims the table. With ``shared_records`` 0 it only trims: the
    leader may be configured not to share while other processes do."""

    def __init__(
        self,
        table: DecisionTable,
        process: str,
        options: SchedulerOptions,
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        self.process = process
        self._options = options
        self._clock = clock
        self.is_on = options.shared_records > 0
        written = Written(
            "decisions",
            "gantt-decisions",
            self._row,
            options.shared_backlog,
            options.shared_records or _DEFAULT_KEEP,
            _DEFAULT_KEEP,
            spares_refusals=True,
        )
        self.writer: BackgroundWriter[Recorded, SharedDecision, Asked]
        self.writer = BackgroundWriter(table, written, clock, threads, is_away)
        self.close = self.writer.close
        self._lock = threads.lock()
        self._second = self._scored = self._unscored = self._unawaited = 0
        self._waiters = threading.Semaphore(_WAITERS)

    def counts(self) -> dict[str, float]:
        """What waits, what other processes cannot find, and what was trimmed.
        ``decisions_shared``: rows, in the process that looked lately; else 0."""
        return {
            "decisions_waiting": len(self.writer),
            "decisions_waiting_limit": self._options.shared_backlog,
            "decisions_scored_limit": self._options.shared_scores,
            "decisions_shared_limit": self._options.shared_records,
            "decisions_unshared": self.writer.unwritten,
            "decisions_unscored": self._unscored,
            "decisions_unawaited": self._unawaited,
            "decisions_trimmed": self.writer.trimmed,
            "decisions_shared": self.writer.left,
        }

    def leader_task(self, name: str) -> LeaderTask:
        """What the leader does for all processes."""
        return self.writer.leader_task(name)

    def note(self, one: Noted[Recorded]) -> None:
        """Queue it to be written. Scores are most of the cost of a record: so many a
        second are written. This is decided when a decision is made, so that waiting
        for the database loses none."""
        if one.board is not None:
            second = int(self._clock.monotonic())
            with self._lock:
                if second != self._second:
                    self._second, self._scored = second, 0
                self._scored += 1
                is_within = self._scored <= self._options.shared_scores
                self._unscored += not is_within
            if not is_within:
                one = replace(one, board=None)
        self.writer.note(one)

    def _row(self, one: Noted[Recorded]) -> SharedDecision:
        record = one.record
        scoring = None if one.board is None else one.board.scoring()
        return SharedDecision(
            self.process,
            one.number,
            record.at,
            record.request_id,
            record.project_id,
            one.is_refused,
            one.instances,
            f",{','.join(record.instance_uuids)},",
            encode(as_decision(record), scoring),
        )

    def page(self, asked: Asked, own: Own) -> DecisionPage:
        """Those of all processes, the latest first. A lookup by name that finds nothing
        is repeated after a while, since a new decision may not be written yet."""
        shared = self.writer.page(asked)
        found = page_of(own(asked, self.process), asked, shared)
        is_named = (asked.request_id, asked.instance_uuid) != (None, None)
        if found.decisions or shared is None or not is_named or asked.limit <= 0:
            return found
        if not self._waiters.acquire(blocking=False):
            self._unawaited += 1
            return found
        try:
            self._clock.sleep(_AGAIN_S)
        finally:
            self._waiters.release()
        return page_of(own(asked, self.process), asked, self.writer.page(asked))


def page_of(
    own: Mapping[DecisionPlace, Noted[Recorded]],
    asked: Asked,
    shared: RecordPage[SharedDecision] | None = None,
) -> DecisionPage:
    """The latest of both, as many as are asked for, and fewer of decisions for many
    instances. A write whose answer was lost is in the table twice."""
    found, rest = latest(own, shared or RecordPage(), asked.limit, asked.after)
    records = map(_shown, found)
    kept = (one for one in records if one is not None and asked.means(one))
    return DecisionPage(tuple(kept), rest)


def _shown(one: Noted[Recorded] | SharedDecision) -> Decision | None:
    """The record with its scores; None: of a release that this one does not know."""
    if not isinstance(one, Noted):
        return decode(one.record)
    record = as_decision(one.record)
    return record if one.board is None else replace(record, scores=one.board.scores())


# -- the column ``record`` ------------------------------------------------------------
#
# msgpack: [1, scores by column or null, a field of Decision, the next, …]. Rows outlive
# releases: steps, scores and selections are arrays of their fields too, so fields may
# only be appended; any other change needs another number in front, and older releases
# then skip the row.

_FORM: Final = 1
_ENCODER: Final = msgpack.Encoder()
_FIELDS: Final = Decision.__struct_fields__
_STEPS, _SCORES, _CHOSEN = map(_FIELDS.index, ("steps", "scores", "chosen"))


def encode(record: Decision, scoring: Scoring | None) -> bytes:
    """``scoring``: the scores, where ``record`` has none itself."""
    fields: list[Any] = list(astuple(record))
    fields[_STEPS] = [astuple(one) for one in record.steps]
    fields[_SCORES] = [astuple(one) for one in record.scores]
    fields[_CHOSEN] = [[astuple(one) for one in mine] for mine in record.chosen]
    columns = None if scoring is None else astuple(scoring)
    return _ENCODER.encode((_FORM, columns, *fields))


def decode(data: bytes) -> Decision | None:
    """None: this release does not know the form."""
    try:
        form, columns, *fields = msgpack.decode(data)
        if form != _FORM:
            return None
        fields[_STEPS] = [_named(Step, one) for one in fields[_STEPS]]
        fields[_SCORES] = [_named(Score, one) for one in fields[_SCORES]]
        fields[_CHOSEN] = [
            [_named(Selection, one) for one in mine] for mine in fields[_CHOSEN]
        ]
        if columns is not None:
            scoring = msgspec.convert(_named(Scoring, columns), Scoring)
            fields[_SCORES] = scoring.scores()
        return msgspec.convert(_named(Decision, fields), Decision)
    except (msgspec.MsgspecError, TypeError, ValueError, LookupError):
        return None


def _named(kind: type[Struct], values: Iterable[Any]) -> dict[str, Any]:
    """By field name; fields that this release lacks, or that were added since, are
    left out."""
    return dict(zip(kind.__struct_fields__, values, strict=False))
