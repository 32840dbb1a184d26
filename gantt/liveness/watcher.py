"""A scheduler's watch over the group of agents: who is a member, for the books.

It looks in every process, so that another knows at once what was seen when the leader
ends; only the leader writes, and only what changed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from gantt.engine.engine_protocol import Engine
from gantt.engine.memberships import statement, tell
from gantt.errors import GanttError, Unavailable
from gantt.liveness.group import HOST, WATCHER, Group
from gantt.liveness.group_verdict import MemberSightings, judge
from gantt.liveness.options import CoordinationOptions
from gantt.liveness.repeating_thread import RepeatingThread
from gantt.model.fleet import FleetStatement
from gantt.placement.fleet_queries import frozen_since, memberships

LOG = logging.getLogger(__name__)


class Watcher:
    """A thread that looks who is a member, and tells the books if its process leads.
    ``now``: microseconds since 1970."""

    def __init__(
        self,
        options: CoordinationOptions,
        books: Engine,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """Raises Refused."""
        self._options = options
        self._books = books
        self._now = now
        self._group = Group(options, WATCHER + books.name)
        self._seen = MemberSightings(time.monotonic())
        self._trouble = ""
        self._thread = RepeatingThread(self._look, options.pause_s, "gantt-watcher")

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait until it has."""
        if self._thread.close():
            self._group.leave()

    def _look(self) -> None:
        try:
            self._see()
            self._note("")
        except Unavailable as error:
            self._seen = self._seen.failed()
            self._note(error.message)
        if self._books.leads:
            self._tell()

    def _see(self) -> None:
        """Raises Unavailable."""
        self._group.beat()
        members = self._group.members()
        if members is None:
            self._seen = self._seen.failed()
            return
        hosts = frozenset(one[len(HOST) :] for one in members if one.startswith(HOST))
        self._seen = self._seen.answered(hosts, time.monotonic())

    def _tell(self) -> None:
        try:
            known = self._books.read(memberships)
            verdict = judge(
                self._seen,
                known,
                now=time.monotonic(),
                interval=self._options.heartbeat_interval,
            )
            was_frozen = self._books.read(frozen_since) is not None
            services = statement(verdict, was_frozen=was_frozen, now=self._now())
            if services:
                self._books.set_fleet(FleetStatement(services=services))
                tell(verdict, was_frozen=was_frozen)
        except GanttError as error:  # the database may be away; the next look tells
            LOG.warning("What was seen of agents cannot be stored: %s", error)

    def _note(self, trouble: str) -> None:
        """A line when the service goes away and when it comes back."""
        if bool(trouble) != bool(self._trouble):
            LOG.warning("%s", trouble or "The service for coordination answers again.")
        self._trouble = trouble
