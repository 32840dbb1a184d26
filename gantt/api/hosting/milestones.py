"""What the log says of the life of ``gantt serve``: since when a worker answers, and
what stopped the service.

Apart from what happens then, because the fields of these lines are documented and stay.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Final

from gantt.engine.protocol import Engine
from gantt.engine.reading.reader import Consistency
from gantt.state.state import State

LOG = logging.getLogger(__name__)
_SERVING: Final = ("address", "hosts", "providers", "revision", "seconds")
_STOPPING: Final = ("signal", "delay")


def serving(address: str, gantt: Engine, seconds: float) -> Callable[[], None]:
    """Logs that requests are answered at ``address``, from books that took so long to
    load. They are counted now: the line is written where nothing may wait."""
    hosts, providers = gantt.read(_sizes, consistency=Consistency.LOCAL)
    revision = gantt.revision

    def log() -> None:
        LOG.info(
            "Serving on http://%s: %d hosts, %d providers, revision %d, loaded in %g s",
            *(address, hosts, providers, revision, round(seconds, 3)),
            extra={"fields": _SERVING},
        )

    return log


def log_stopping(number: int, delay_s: float) -> None:
    """Log which signal stops the service, and in how many seconds it no longer
    listens."""
    LOG.info(
        "%s: no longer ready, and stopping in %g s",
        *(signal.Signals(number).name, delay_s),
        extra={"fields": _STOPPING},
    )


def _sizes(state: State) -> tuple[int, int]:
    return len(state.fleet.hosts.row_by_id), len(state.providers.row_by_id)
