"""Several feeds of one Gantt: one of them reads, the others wait for its turn to end.

Whose turn it is stands in the books, so it does not matter by which address a feed
reaches them. It is asked, not enforced: one that stood still after it had read may pass
that on over what the other has said since, which stands until the rows are read again.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

from gantt.engine.background.leader_tasks import Leadership
from gantt.engine.clock import SystemClock
from gantt.errors import GanttError, NotFound
from gantt.model.protocol import GanttProtocol
from gantt.openstack.feed.cloud_feed import Feed
from gantt.store.interface import Lead

LOG = logging.getLogger(__name__)
SILENCE_S: Final = 10.0
"""A feed that has not said for so long that it goes on has died."""
_LOOK_S: Final = SILENCE_S / 4


class _Turns:
    """The turn of feeds in ``books``, as a leadership looks at it."""

    def __init__(self, books: GanttProtocol) -> None:
        self._books = books

    def leader(self) -> Lead:
        found = self._books.feed_turn()
        return Lead(found.holder, found.beat)

    def lead(self, holder: str, seen: Lead) -> Lead | None:
        found = self._books.feed_turn(
            holder, seen_holder=seen.holder, seen_beat=seen.beat
        )
        mine = Lead(holder, seen.beat + 1)
        return mine if (found.holder, found.beat) == (holder, mine.beat) else None


class Standby:
    """Feeds ``books`` by what ``make`` makes while it is the turn of this process.

    ``started``: called each time that a feed has read everything, with the seconds that
    it took.
    """

    def __init__(
        self,
        books: GanttProtocol,
        make: Callable[[], Feed],
        started: Callable[[Feed, float], None],
    ) -> None:
        name = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._leadership = Leadership(_Turns(books), name, SILENCE_S, SystemClock())
        self._make, self._started = make, started
        self._feed = make()
        self._is_mine = self._is_feeding = False
        self._changed = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="gantt-feed-turn", daemon=True
        )

    def run(self, waits: Callable[[], None], ended: threading.Event) -> None:
        """Until ``ended``; ``waits`` is called if another feeds at first. Raises what
        the first look and ``Feed.start`` raise."""
        self._look()
        self._thread.start()
        if not self._is_mine:
            LOG.info("Another feed reads Nova's databases: this one stands by")
            waits()
        while not ended.is_set():
            self._changed.clear()
            if self._is_mine != self._is_feeding:
                self._change()
            while not (self._changed.wait(0.2) or ended.is_set()):
                pass

    def close(self) -> None:
        """Stop feeding, and let another feed as soon as it asks."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(2 * SILENCE_S)
        self._feed.stop()
        try:
            self._leadership.give_up()
        except GanttError as error:
            LOG.warning("The next feed takes over in %g s: %s", SILENCE_S, error)

    # -- for operators ---------------------------------------------------------------

    def unready(self) -> str:
        """See Feed; one that stands by is ready to."""
        return self._feed.unready() if self._is_mine else ""

    def notice(self) -> str:
        """See Feed."""
        return self._feed.notice() if self._is_mine else "another feed reads: standby"

    def counts(self) -> Mapping[str, float]:
        """See Feed."""
        return {**self._feed.counts(), "standby": 0.0 if self._is_mine else 1.0}

    # -- its turn --------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            try:
                self._look()
            except GanttError as error:
                # The service takes nothing in now: whose turn it was goes on.
                LOG.debug("Whose turn it is to feed cannot be asked: %s", error)
            except Exception:  # a bug must not end the thread: both would feed
                LOG.exception("Whose turn it is to feed could not be asked")

    def _look(self) -> None:
        try:
            is_mine = self._leadership.look()
        except NotFound:  # a release that knows of no turns
            is_mine = True
        if is_mine != self._is_mine:
            self._is_mine = is_mine
            self._changed.set()

    def _change(self) -> None:
        if self._is_mine:
            self._is_feeding = True
            began = time.monotonic()
            self._feed.start()
            self._started(self._feed, time.monotonic() - began)
            return
        LOG.warning("Another feed took over: this one stands by")
        self._feed.stop()
        self._feed, self._is_feeding = self._make(), False
