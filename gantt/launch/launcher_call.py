"""One call of a launcher in a thread of its own, so that one that hangs is bounded."""

from __future__ import annotations

import logging
import threading

from gantt.launch.contract import Launcher, StartedInstance, Work
from gantt.model.selection import Selection

LOG = logging.getLogger(__name__)


class LaunchTimedOut(Exception):
    """The launcher did not return in time; no launcher raises this itself."""


class Starting:
    """A launch that is under way. It ends in ``result`` or ``abandon``."""

    def __init__(self, launcher: Launcher, selection: Selection, work: Work) -> None:
        self._call = (launcher, selection, work)
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._workload: StartedInstance | None = None
        self._failure: Exception | None = None
        # A daemon: a launcher that never returns must not keep the process.
        self._thread = threading.Thread(
            target=self._run, name=f"launch-{work.instance_uuid}", daemon=True
        )
        self._thread.start()

    def result(self, timeout_s: float) -> StartedInstance:
        """What runs. Raises what the launcher raised, LaunchTimedOut when its time is
        up; what it starts after that is stopped."""
        self._thread.join(max(0.0, timeout_s))
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._workload is not None:
                return self._workload
            self._is_abandoned = True
        raise LaunchTimedOut

    def abandon(self) -> None:
        """Stop what runs, or will."""
        with self._lock:
            self._is_abandoned = True
            workload = self._workload
        if workload is not None:
            stop(workload)

    def _run(self) -> None:
        launcher, selection, work = self._call
        try:
            workload = launcher.launch(selection, work)
        except Exception as error:
            with self._lock:
                self._failure = error
            return
        with self._lock:
            self._workload = workload
            is_late = self._is_abandoned
        if is_late:
            LOG.warning(
                "instance %s started on %s after its time was up: it is stopped",
                work.instance_uuid,
                selection.service_host,
            )
            stop(workload)


def stop(workload: StartedInstance) -> None:
    """Stop it; that this fails is logged, since the caller goes on either way."""
    try:
        workload.stop()
    except Exception:
        LOG.exception("an instance could not be stopped")
