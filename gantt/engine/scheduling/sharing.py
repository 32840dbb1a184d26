"""Decisions of all processes, through one table that each of them writes and reads.

Separate from ``records``, which has the decisions of this process in memory: here a
thread writes them in batches, so that no decision waits for it, and lookups read the
table.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, Final

import msgspec
from msgspec import Struct, msgpack
from msgspec.structs import astuple, replace

from gantt.engine.clock import Clock
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.scheduling.noted import Noted, Ring
from gantt.engine.threads import Thread, Threads
from gantt.errors import GanttError
from gantt.model.paging import text_of
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
from gantt.store.interface import (
    ADVICE,
    DECISION_INSTANCES,
    SharedDecision,
    SharedDecisions,
    SharedPage,
)

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 0.2
"""Between two writes; a process that is killed loses the decisions of this time."""
_AGAIN_S: Final = 2 * PERIOD_S  # a write takes a while where the database is busy
_WAITERS: Final = 8  # each occupies a thread that other requests need
_PAUSE_S: Final = 1.0
_TRIM_S: Final = 10.0
_DEFAULT_KEEP: Final = SchedulerOptions().shared_records
_WRITING: Final = "decisions cannot be shared and are kept until they can"
_FINDING: Final = "only decisions of this process are available"

NOTHING_SHARED: Final = SharedPage((), is_whole=True)
Own = Callable[[Asked, str], Mapping[DecisionPlace, Noted]]
"""What this process, by its name, keeps of what is asked for, and one more."""


class Sharing:
    """Writes decisions of ``process``, a name that no other process ever has, finds
    those of all, and trims the table. With ``shared_records`` 0 it only trims: the
    leader may be configured not to share while other processes do."""

    def __init__(
        self,
        table: SharedDecisions,
        process: str,
        options: SchedulerOptions,
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        self._table = table
        self.process = process
        self._options = options
        self._clock = clock
        self._threads = threads
        self._is_away = is_away
        self.is_on = options.shared_records > 0
        self._keep = options.shared_records or _DEFAULT_KEEP
        self._trim_at = clock.monotonic()
        self._lock = threads.lock()
        self._changed = threads.condition()
        self._stop = threads.event()
        self._thread: Thread | None = None
        self._is_closed = False
        self._backlog = self._empty()
        self._second = self._scored = self._written = self._left = 0
        self._unshared = self._unscored = self._unawaited = self._trimmed = 0
        self._waiters = threading.Semaphore(_WAITERS)
        self._troubles: set[str] = set()

    def counts(self) -> dict[str, float]:
        """What waits, what other processes cannot find, and what was trimmed.
        ``decisions_shared``: rows, in the process that looked lately; else 0."""
        is_recent = self._clock.monotonic() < self._trim_at + 2 * _TRIM_S
        return {
            "decisions_waiting": len(self._backlog),
            "decisions_waiting_limit": self._options.shared_backlog,
            "decisions_scored_limit": self._options.shared_scores,
            "decisions_shared_limit": self._options.shared_records,
            "decisions_unshared": self._unshared,
            "decisions_unscored": self._unscored,
            "decisions_unawaited": self._unawaited,
            "decisions_trimmed": self._trimmed,
            "decisions_shared": self._left if is_recent else 0,
        }

    # -- writing ------------------------------------------------------------------

    def note(self, one: Noted) -> None:
        """Queue it to be written."""
        with self._lock:
            is_first = self._backlog.count == 0
            if one.board is not None and not self._may_score():
                self._unscored += 1
                one = replace(one, board=None)
            self._unshared += self._backlog.add(one)
            if self._thread is None and not self._is_closed:
                self._thread = self._threads.start(self._run, "gantt-decisions")
        if is_first:
            with self._changed:
                self._changed.notify()

    def _may_score(self) -> bool:
        """Scores are most of the cost of a record: so many a second are written. This
        is decided when a decision is made, so that waiting for the database loses
        none."""
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second, self._scored = second, 0
        self._scored += 1
        return self._scored <= self._options.shared_scores

    def close(self) -> None:
        """Write what waits, once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._write()

    def _empty(self) -> Ring:
        return Ring(self._options.shared_backlog, spares_refusals=True)

    def _run(self) -> None:
        pause_s = PERIOD_S
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._backlog or self._is_closed)
            if self._stop.wait(pause_s):
                return
            pause_s = PERIOD_S if self._write() else _PAUSE_S

    def _write(self) -> bool:
        """Whether the database took what was waiting."""
        with self._lock:
            taken, self._backlog = self._backlog, self._empty()
        try:
            rows = self._rows(taken)
            lost = len(taken) - len(rows)
            lost += self._table.add(rows) if rows else 0
            self._troubles.discard(_WRITING)
            self._trim_unless_led(len(rows))
        except GanttError as error:
            self._report(_WRITING, error)
            with self._lock:
                newer, self._backlog = self._backlog, taken
                self._unshared += sum(map(taken.add, newer.in_order()))
            return False
        except Exception:  # a bug must not end the thread
            LOG.exception("%d decisions are not shared", len(taken))
            lost = len(taken)
        with self._lock:
            self._unshared += lost
        return True

    def _rows(self, taken: Ring) -> list[SharedDecision]:
        """All but those that cannot be serialized: a plug-in's values, perhaps."""
        rows = []
        for one in taken.in_order():
            try:
                rows.append(self._row(one))
            except (TypeError, ValueError) as error:
                name = one.record.request_id
                LOG.warning("the record of %r is not shared: %s", name, error)
        return rows

    def _row(self, one: Noted) -> SharedDecision:
        record = one.record
        return SharedDecision(
            self.process,
            one.number,
            record.at,
            record.request_id,
            record.project_id,
            record.failure is not None,
            one.instances,
            f",{','.join(record.instance_uuids)},",
            encode(record, None if one.board is None else one.board.scoring()),
        )

    # -- trimming -----------------------------------------------------------------

    def is_due(self) -> bool:
        """Whether the leader should trim."""
        return self._clock.monotonic() >= self._trim_at

    def trim(self) -> int:
        """How many rows were dropped. Raises StoreFailed, and is due again later."""
        self._trim_at = self._clock.monotonic() + _TRIM_S
        return self._trim(self._keep)

    def _trim_unless_led(self, written: int) -> None:
        """The leader may be of a release without this table, so each process that has
        written many rows trims as well, but no other process's more generous limit."""
        self._written += written
        keep = max(self._keep, _DEFAULT_KEEP)
        if self._written > keep:
            try:
                self._trim(keep)
            except GanttError as error:  # again after the next write
                LOG.info("the table of decisions was not trimmed: %s", error)

    def _trim(self, keep: int) -> int:
        of_advice = self.process.endswith(ADVICE)
        done = self._table.trim(keep, of_advice=of_advice)
        self._written = 0
        self._trimmed += done.dropped
        self._left = done.left
        return done.dropped

    # -- finding ------------------------------------------------------------------

    def page(self, asked: Asked, own: Own) -> DecisionPage:
        """Those of all processes, the latest first. A lookup by name that finds nothing
        is repeated after a while, since a new decision may not be written yet."""
        found, is_answered = self._look(asked, own)
        is_named = (asked.request_id, asked.instance_uuid) != (None, None)
        if found.decisions or not is_answered or not is_named or asked.limit <= 0:
            return found
        if not self._waiters.acquire(blocking=False):
            self._unawaited += 1
            return found
        try:
            self._clock.sleep(_AGAIN_S)
        finally:
            self._waiters.release()
        return self._look(asked, own)[0]

    def _look(self, asked: Asked, own: Own) -> tuple[DecisionPage, bool]:
        """The matching ones, and whether the database answered."""
        shared = NOTHING_SHARED
        is_answered = False
        try:
            shared, is_answered = self._table.find(asked), True
            self._troubles.discard(_FINDING)
        except GanttError as error:
            self._report(_FINDING, error)
        return page_of(own(asked, self.process), asked, shared), is_answered

    def _report(self, text: str, error: GanttError) -> None:
        """Once per trouble, not five times a second; outages are logged elsewhere."""
        if text not in self._troubles and not self._is_away():
            self._troubles.add(text)
            LOG.warning("%s: %s", text, error)


# -- pages ----------------------------------------------------------------------------


def page_of(
    own: Mapping[DecisionPlace, Noted],
    asked: Asked,
    shared: SharedPage = NOTHING_SHARED,
) -> DecisionPage:
    """The latest of both, as many as are asked for, and fewer of decisions for many
    instances. A write whose answer was lost is in the table twice."""
    rows = {(one.at, one.number, one.process): one for one in shared.rows}
    found: dict[DecisionPlace, Noted | SharedDecision] = {**rows, **own}
    if rows and not shared.is_whole:
        # Rows that were not read would come between those of this process.
        last = min(rows)
        found = {place: one for place, one in found.items() if place >= last}
    after = asked.after
    places = sorted(one for one in found if after is None or one < after)[::-1]
    sizes = accumulate(max(found[p].instances, DECISION_INSTANCES) for p in places)
    fitting = sum(size <= asked.limit * DECISION_INSTANCES for size in sizes)
    shown = places[: min(asked.limit, max(fitting, 1))]
    records = (_shown(found[place]) for place in shown)
    is_last = shared.is_whole and len(shown) == len(places)
    return DecisionPage(
        tuple(one for one in records if one is not None and asked.means(one)),
        "" if is_last or not shown else text_of(shown[-1]),
    )


def _shown(one: Noted | SharedDecision) -> Decision | None:
    return one.shown() if isinstance(one, Noted) else decode(one.record)


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
