"""Whether the database answers, for somebody who cannot wait until it does.

Apart from the engine's health because it needs a thread: a server that stands still
neither answers nor refuses, and who has asked it waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gantt.engine.threads import Event, Threads
from gantt.errors import GanttError, StoreFailed

LOG = logging.getLogger(__name__)


class _Question:
    """One look, and what came of it."""

    def __init__(self, done: Event) -> None:
        self.done = done
        self.failure: GanttError | None = None
        self.is_late = False


class Probe:
    """Looks in a thread of its own, in one at a time."""

    def __init__(
        self, look: Callable[[], None], timeout_s: float, threads: Threads
    ) -> None:
        self._look = look
        self._timeout_s = timeout_s
        self._threads = threads
        self._lock = threads.lock()
        self._question: _Question | None = None

    def failure(self) -> GanttError | None:
        """Why it failed, or that it takes longer than ``timeout_s``: who asks while it
        does hears so at once."""
        with self._lock:
            question = self._question
            if question is None:
                question = self._question = _Question(self._threads.event())
                asked = question
                self._threads.start(lambda: self._run(asked), "gantt-probe")
        if question.is_late or not question.done.wait(self._timeout_s):
            question.is_late = True
            return StoreFailed(
                f"The database has not answered for {self._timeout_s:g} s; it "
                "may be stalled. Check that it is running."
            )
        return question.failure

    def _run(self, question: _Question) -> None:
        try:
            self._look()
        except GanttError as error:
            question.failure = error
        except Exception as error:
            LOG.exception("the check whether the books can be read failed")
            question.failure = StoreFailed(f"a bug in Gantt: {error!r}")
        finally:
            with self._lock:
                self._question = None
            question.done.set()
