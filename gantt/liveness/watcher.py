"""A scheduler's watch over the group of agents: who is a member, for the books.

It looks in every process, so that another knows at once what was seen when the leader
ends; only the leader writes, and only what changed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.engine_protocol import Engine
from gantt.engine.memberships import statement, tell
from gantt.errors import GanttError, Unavailable
from gantt.liveness.group import HOST, WATCHER, Group
from gantt.liveness.options import CoordinationOptions
from gantt.liveness.repeating_thread import RepeatingThread
from gantt.model.fleet import FleetStatement, Verdict
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


SETTLING: Final = 2
"""Intervals after an outage in which hosts that are missing may still come back."""


class MemberSightings(Struct, frozen=True):
    """What a watcher saw. Times are seconds of one monotonic clock.

    ``began_at``: when it began to look. ``answered_at``: when members were last known;
    None: never. ``whole_since``: since when every look found members, the watcher among
    them; None: the last did not. ``members``: hosts found by the last look that found
    any members, ``before``: by the one before it.
    """

    began_at: float
    answered_at: float | None = None
    whole_since: float | None = None
    members: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()

    def answered(self, hosts: frozenset[str], now: float) -> MemberSightings:
        """A look found these hosts, and the watcher among the members."""
        since = now if self.whole_since is None else self.whole_since
        return MemberSightings(self.began_at, now, since, hosts, self.members)

    def failed(self) -> MemberSightings:
        """A look found no answer, or the watcher not among the members."""
        return replace(self, whole_since=None)


def judge(
    seen: MemberSightings, known: Mapping[str, bool], *, now: float, interval: float
) -> Verdict:
    """``known``: host -> whether it is up, as last decided; ``interval``: seconds
    between heartbeats, and the time after which a membership without one ends.

    Two looks in a row must miss a host: one that joins again leaves for a moment.
    """
    last = seen.began_at if seen.answered_at is None else seen.answered_at
    if now - last > interval:
        return Verdict(is_frozen=True)
    if seen.whole_since is None:
        return Verdict()
    up = tuple(sorted(host for host in seen.members if not known.get(host, False)))
    if now - seen.whole_since < SETTLING * interval:
        return Verdict(up)
    there = seen.members | seen.before
    down = tuple(
        sorted(host for host, is_up in known.items() if is_up and host not in there)
    )
    return Verdict(up, down, is_frozen=False)
