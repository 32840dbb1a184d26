"""What programs log of their life: since when one serves, and what stops it.

Apart from what happens then, and alike for all programs, because the fields of these
lines are documented and stay.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gantt.engine.engine_protocol import Engine
    from gantt.state.state import State

LOG = logging.getLogger(__name__)
_SERVING: Final = ("hosts", "providers", "revision", "seconds")
_FEEDING: Final = ("books", "hosts", "cells", "seconds")
_STOPPING: Final = ("signal", "delay")


def serving(
    text: str, named: Mapping[str, str], engine: Engine, seconds: float
) -> Callable[[], None]:
    """Logs that requests are answered, from books that took so long to load. They are
    counted now: the line may be written where nothing may wait. ``named``: the fields
    that ``text`` shows."""
    # Loads an engine, which a feed of a service does not need.
    from gantt.engine.reading.reader import Consistency

    hosts, providers = engine.read(_sizes, consistency=Consistency.LOCAL)
    revision = engine.revision

    def log() -> None:
        LOG.info(
            text + ": %d hosts, %d providers, revision %d, loaded in %g s",
            *named.values(),
            hosts,
            providers,
            revision,
            round(seconds, 3),
            extra={"fields": (*named, *_SERVING)},
        )

    return log


def log_feeding(books: str, counts: Mapping[str, float], seconds: float) -> None:
    """Log that ``books`` know what Nova's databases say, and how long it took to read
    these. ``counts``: of the feed."""
    LOG.info(
        "Feeding %s: %d hosts, %d cells, read in %g s",
        books,
        int(counts["hosts"]),
        int(counts["cells"]),
        round(seconds, 3),
        extra={"fields": _FEEDING},
    )


def log_stopping(number: int, delay_s: float = 0) -> None:
    """Log which signal stops the program, and in how many seconds it takes nothing
    new."""
    LOG.info(
        "%s: no longer ready, and stopping in %g s",
        signal.Signals(number).name,
        delay_s,
        extra={"fields": _STOPPING},
    )


def _sizes(state: State) -> tuple[int, int]:
    return len(state.fleet.hosts.row_by_id), len(state.providers.row_by_id)
