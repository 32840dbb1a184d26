"""Settles pending requests: when their claims are seen, or their time is over."""

from __future__ import annotations

import logging
import uuid as uuids
from typing import Final, get_args

from gantt.engine.clock import Clock
from gantt.engine.options import ShadowOptions
from gantt.engine.shadow.nova_verdict import NovaOutcome, record_of
from gantt.engine.shadow.pending_requests import PendingRequests, Waiting
from gantt.engine.shadow.record_store import Keeping
from gantt.engine.shadow.sightings import ClaimSightings
from gantt.engine.threads import Thread, Threads
from gantt.errors import GanttError
from gantt.model.shadow import ShadowRecord, Verdict
from gantt.placement.claimed_hosts import ClaimedHost

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 0.25
"""Between two looks for claims while requests are pending."""
_END_S: Final = 2.0
"""How long the notification of an end may come after the claim."""
UNNAMED: Final = "the notifications name only the first and the last instance"
REBUILD: Final = "a rebuild claims nothing"
NO_CLAIMS: Final = (
    "this process has seen no claim of any instance yet: is Gantt the cloud's "
    "Placement, or told of its instances?"
)


class Settling:
    """A thread, which starts with the first request."""

    def __init__(
        self,
        pending: PendingRequests,
        sightings: ClaimSightings,
        keeping: Keeping,
        options: ShadowOptions,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._pending, self._sightings = pending, sightings
        self._keeping, self._options = keeping, options
        self._clock, self._threads = clock, threads
        self._lock = threads.lock()
        self._stop = threads.event()
        self._changed = threads.condition()
        self._thread: Thread | None = None
        self._is_closed = False
        self._verdicts = dict.fromkeys(get_args(Verdict), 0)

    def counts(self) -> dict[str, float]:
        """Verdicts so far, by name."""
        return {f"shadow_{name}": count for name, count in self._verdicts.items()}

    def wake(self) -> None:
        """There is something to settle."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = self._threads.start(self._run, "gantt-shadow")
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Stop; what is pending is lost."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._pending)
            if self._stop.wait(PERIOD_S):
                return
            try:
                self.settle()
            except GanttError as error:  # the next round looks again
                LOG.debug("claims could not be looked for: %s", error)
            except Exception:  # a bug must not end the thread
                LOG.exception("shadow records could not be settled")

    def settle(self) -> None:
        """One round. Raises StoreFailed."""
        found = self._sightings.look()
        now = self._clock.monotonic()
        records = []
        for one in self._pending.each():
            for number in sorted(one.left):
                outcome = self._outcome(one, number, found, now)
                if outcome is not None:
                    one.left.discard(number)
                    records.append(self._record(one, number, outcome))
            if not one.left:
                self._pending.remove(one)
                self._sightings.forget(one.uuids.values())
        for record in records:
            self._verdicts[record.verdict] += 1
        self._keeping.add(records)

    def _outcome(
        self, one: Waiting, number: int, found: dict[str, ClaimedHost], now: float
    ) -> NovaOutcome | None:
        """None: not known yet."""
        uuid = one.uuids.get(number)
        seen = None if uuid is None else found.get(uuid)
        if seen is not None:
            is_awaited = one.observed.source == "notification" and one.ended_at is None
            one.seen_at = now if one.seen_at is None else one.seen_at
            if is_awaited and now < min(one.seen_at + _END_S, one.until):
                return None
            is_late = seen.learnt_from == "remote allocations" and one.ended_first
            nova_s = one.nova_s if one.ended_at is not None else one.claimed_after(seen)
            return NovaOutcome(seen, True, nova_s, is_late)
        is_unnamed = uuid is None and one.ended_at is not None
        if now < one.until and not is_unnamed:
            return None
        note = ""
        if uuid is None:
            note = UNNAMED
        elif one.observed.operation == "rebuild":
            note = REBUILD
        elif not self._sightings.is_any:
            note = NO_CLAIMS
        return NovaOutcome(None, one.ended_at is not None, one.nova_s, note=note)

    def _record(self, one: Waiting, number: int, outcome: NovaOutcome) -> ShadowRecord:
        most = self._options.shadow_hosts
        return record_of(
            one.ranked(),
            number,
            one.uuids.get(number),
            outcome,
            record_id=str(uuids.uuid4()),
            at=self._clock.now(),
            most_hosts=most,
            most_refused=most,
        )
