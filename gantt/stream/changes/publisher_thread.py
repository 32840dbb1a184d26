"""The thread that publishes changes while its process leads.

Every process has one, so that another goes on when the leader ends. That two processes
may believe for a moment that they lead does no harm: the topic lets only the one write
that opened it last.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from gantt.engine.engine_protocol import Engine
from gantt.errors import GanttError
from gantt.stream.changes.change_topic import ChangeTopic, Fenced
from gantt.stream.changes.publisher import Publisher, TransactionLimits
from gantt.stream.options import StreamOptions

LOG = logging.getLogger(__name__)
# How soon a process finds out that it leads, or should end.
_TURN_S: Final = 0.5
# After a failure; doubled while failures go on.
_PAUSE_S: Final = 0.5
_LONGEST_S: Final = 15.0
# After another process took over: longer than two may believe that they lead.
_FENCED_S: Final = 5.0
_JOIN_S: Final = 2.0


class Publishing:
    """Publishes the changes of ``books`` to ``topic`` until it is closed."""

    def __init__(
        self, options: StreamOptions, books: Engine, topic: ChangeTopic
    ) -> None:
        self._books = books
        self._limits = TransactionLimits(
            messages=options.changes_batch,
            message_bytes=options.changes_message_bytes,
            snapshot_s=options.changes_snapshot_s,
        )
        self._publisher = Publisher(books, topic, self._limits)
        self._failures = 0
        self._fenced = 0
        self._reached: int | None = None
        # Since when nothing can be published, and why.
        self._trouble: tuple[float, str] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="gantt-changes", daemon=True
        )

    def start(self) -> None:
        """Publish whenever this process leads from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait a little until it has: a broker that does not answer must not
        hold up the end of a process."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def counts(self) -> dict[str, float]:
        """See Companion."""
        return {
            "stream_changes": self._publisher.revisions,
            "stream_changes_lag": self._lag(),
            "stream_changes_failures": self._failures,
            "stream_changes_fenced": self._fenced,
            "stream_snapshots": self._publisher.snapshots,
            "stream_changes_batch_limit": self._limits.messages,
            "stream_changes_message_bytes_limit": self._limits.message_bytes,
        }

    def notice(self) -> str:
        """See Companion."""
        trouble = self._trouble
        if trouble is None:
            return ""
        since, why = trouble
        silence_s = time.monotonic() - since
        return f"changes could not be published for {silence_s:.0f} s: {why}"

    def withholds_reports(self) -> bool:
        """See Companion."""
        return False

    def _lag(self) -> int:
        """Revisions that the topic does not have, as far as known."""
        if not self._books.leads or self._reached is None:
            return 0
        return max(0, self._books.revision - self._reached)

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            if self._books.leads:
                pause_s = self._publish(pause_s)
            else:
                self._rest()
                pause_s = _TURN_S
        self._close()

    def _publish(self, paused_s: float) -> float:
        """A step; how long to pause after it."""
        if self._reached is None:
            # What was published is not known until the broker tells.
            self._reached = self._books.revision
        try:
            self._publisher.step(_TURN_S)
        except Fenced:
            self._fenced += 1
            self._close()
            LOG.warning("Another process has begun to publish changes.")
            return _FENCED_S
        except Exception as error:
            self._failed(error)
            return min(max(_PAUSE_S, 2 * paused_s), _LONGEST_S)
        self._reached = self._publisher.reached
        if self._trouble is not None:
            LOG.warning("Changes are published again.")
            self._trouble = None
        return 0.0

    def _failed(self, error: Exception) -> None:
        """Once per trouble, unless it is a bug."""
        if not isinstance(error, GanttError):
            LOG.exception("Changes cannot be published.")
        elif self._trouble is None and not self._books.is_logged(error):
            LOG.error("Changes cannot be published: %s", error)
        since = time.monotonic() if self._trouble is None else self._trouble[0]
        self._trouble = since, str(error)
        self._failures += 1
        # Last: a broker that is gone makes it wait.
        self._close()

    def _close(self) -> None:
        """Let go of the topic. A client that fails meanwhile must not end the thread:
        what it had open is aborted by whichever publisher opens the topic next."""
        try:
            self._publisher.close()
        except Exception:
            LOG.exception("The topic of changes could not be closed.")

    def _rest(self) -> None:
        """This process does not lead."""
        self._close()
        self._reached = self._trouble = None
