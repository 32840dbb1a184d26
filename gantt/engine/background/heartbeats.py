"""Which hosts are up by the reports of their agents, where no group of agents tells.

Every process that takes reports writes down, seldom and for many hosts at once, that
their agents were heard of; the leader looks what was written, and tells the books only
that a host went down or came up. So a fleet without news makes no revision. Times are
compared on the leader's own monotonic clock: what counts is that a row has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from gantt.engine.memberships import statement, tell
from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.threads import LeaderTask, Thread, Threads
from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.fleet import AGENT, Verdict
from gantt.model.rows import NO_HOST
from gantt.placement.fleet_queries import frozen_since, memberships
from gantt.state.state import State
from gantt.store.interface import Heartbeat, SideTable

LOG = logging.getLogger(__name__)

HeartbeatTable = SideTable[Heartbeat, None, Collection[int]]
Place = tuple[str, str]
"""A host and its node."""
_LATE: Final = NO_HOST
"""The row of no host: when a process was late to hear of hosts, so that their silence
says nothing."""
BEATS: Final = 3
"""Reports that agents are asked for within ``service_down_time``."""
_WRITES: Final = 4
"""Of ``service_down_time``, the part for which a written heartbeat stands."""
_SETTLING: Final = 2
"""Times ``service_down_time`` in which, after a start or an outage, hosts that are
missing may still come back."""
_LEAST_S: Final = 1.0
_PAUSES_S: Final = 0.25, 5.0
_NEWS: Final = 500
"""Hosts of which the books are told at once: the leader must write its own heartbeat in
between."""


class Heartbeats(StateMethods):
    """``rows`` None: there is nowhere to keep them. Not ``is_on``: a group of agents
    tells which hosts are up, and what is in ``rows`` is of before.
    ``withholds_reports``: whether agents may report what this process cannot hear; no
    host goes down meanwhile."""

    def __init__(
        self,
        state: StateAccess,
        rows: HeartbeatTable | None,
        threads: Threads,
        *,
        is_on: bool,
        withholds_reports: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(state)
        self._rows = rows
        self._threads = threads
        self._is_on = is_on and rows is not None
        self._withholds_reports = withholds_reports
        self._lock = threads.lock()
        self._stop = threads.event()
        self._thread: Thread | None = None
        self._heard: dict[Place, int] = {}
        self._late_at: int | None = None
        self._known_late_at: int | None = None
        self._written: dict[int, float] = {}
        self._counts = dict.fromkeys(("heard", "written", "writes", "late"), 0)
        self._looks = Looks()
        self._due_at = 0.0

    @property
    def down_s(self) -> float:
        """Seconds without a heartbeat after which a host is down."""
        return max(_LEAST_S, self._checks.options.service_down_time)

    @property
    def beat_s(self) -> float | None:
        """Seconds in which an agent is to report again; None: as it likes."""
        return self.down_s / BEATS if self._is_on else None

    @property
    def late_s(self) -> float:
        """Seconds that reports may wait before they are heard: with an interval between
        two of them, less than until a host is down."""
        return self.down_s / 2

    @property
    def pause_s(self) -> float:
        """Seconds between two writes, and between two looks."""
        least, most = _PAUSES_S
        return min(most, max(least, self.down_s / 12))

    def heard(self, places: Iterable[Place]) -> None:
        """The agents of these hosts have reported just now."""
        if not self._is_on:
            return
        now = self._clock.now()
        with self._lock:
            before = len(self._heard)
            self._heard.update(dict.fromkeys(places, now))
            self._counts["heard"] += len(self._heard) - before
            self._start(is_wanted=bool(self._heard))

    def are_late(self) -> None:
        """What this process hears has waited: no host goes down until that is over."""
        if not self._is_on:
            return
        with self._lock:
            self._late_at = self._clock.now()
            self._counts["late"] += 1
            self._start(is_wanted=True)

    def _start(self, *, is_wanted: bool) -> None:
        if is_wanted and self._thread is None:
            self._thread = self._threads.start(self._run, "gantt-heartbeats")

    def leader_tasks(self) -> tuple[LeaderTask, ...]:
        if self._rows is None:
            return ()
        return (LeaderTask("liveness", self._is_due, self._look),)

    def counts(self) -> dict[str, float]:
        """What was done so far, by name; for metrics."""
        return {f"heartbeats_{name}": count for name, count in self._counts.items()}

    def close(self) -> None:
        """Write what was heard, and stop."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    # -- writing -----------------------------------------------------------------------

    def _run(self) -> None:
        is_silent = False
        is_over = False
        while not is_over:
            is_over = self._stop.wait(self.pause_s)
            try:
                self.write()
                is_silent = False
            except GanttError as error:  # the database may be away; kept until then
                if not is_silent:
                    LOG.warning("Heartbeats of hosts cannot be written: %s", error)
                is_silent = True
            except Exception:  # a bug must not end the thread
                LOG.exception("writing heartbeats failed")

    def write(self) -> None:
        """Write what was heard of hosts whose last heartbeat is old enough. Raises
        StoreFailed, and keeps it then."""
        with self._lock:
            heard, self._heard = self._heard, {}
            late_at, self._late_at = self._late_at, None
        if (not heard and late_at is None) or self._rows is None:
            return
        now, stands_s = self._clock.monotonic(), self.down_s / _WRITES
        written = {key: at for key, at in self._written.items() if now - at < stands_s}
        try:
            ids = self._reader.read(_ids, tuple(heard), consistency=Consistency.LOCAL)
            due = {
                host_id: at
                for host_id, at in zip(ids, heard.values(), strict=True)
                if host_id is not None and host_id not in written
            }
            late = {} if late_at is None else {_LATE: late_at}
            self._rows.append([Heartbeat(*one) for one in {**due, **late}.items()])
        except BaseException:
            with self._lock:
                self._heard = {**heard, **self._heard}
                self._late_at = self._late_at or late_at
            raise
        self._written = {**written, **dict.fromkeys(due, now)}
        self._counts["written"] += len(due)
        self._counts["writes"] += bool(due)

    # -- looking -----------------------------------------------------------------------

    def _is_due(self) -> bool:
        return self._clock.monotonic() >= self._due_at

    def _look(self) -> int:
        """Tell the books which hosts went down or came up; how many. Raises
        StoreFailed."""
        rows = self._rows
        assert rows is not None, "there is no such task without them"
        now = self._clock.monotonic()
        self._due_at = now + self.pause_s
        found = rows.page(None).rows.values()
        heard = {one.host_id: one.heard_at for one in found}
        late_at = heard.pop(_LATE, None)
        is_late, self._known_late_at = late_at != self._known_late_at, late_at
        hosts, known, was_frozen = self._reader.read(_known, tuple(heard))
        if not self._is_on:
            return self._forget(rows, heard, hosts)
        rows.trim(heard.keys() - hosts.keys())
        self._looks.take({key: heard[key] for key in hosts}, now, self.down_s)
        if self._withholds_reports() or is_late:
            self._looks.settle(now)
        verdict = self._looks.judge(hosts, known, now, self.down_s)
        said = statement(verdict, was_frozen=was_frozen, now=self._clock.now())
        self._submit([c.UpdateService(one) for one in said])
        tell(verdict, was_frozen=was_frozen)
        return len(said)

    def _forget(
        self, rows: HeartbeatTable, heard: Mapping[int, int], hosts: Mapping[int, str]
    ) -> int:
        """What heartbeats said before there was a group says nothing any more."""
        some = sorted(heard)[:_NEWS]
        names = sorted({hosts[key] for key in some if key in hosts})
        self._submit([c.DeleteService(name, AGENT) for name in names])
        rows.trim(some)
        return len(some)

    def _submit(self, commands: Sequence[c.Command[None]]) -> None:
        """Raises what the committer refuses."""
        for answer in self._committer.submit_all(commands):
            if isinstance(answer, GanttError):
                raise answer


class Looks:
    """What the rows were when the leader looked, on its monotonic clock in seconds."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = 0.0
        self._heard: dict[int, int] = {}
        self._seen: dict[int, float] = {}

    def take(self, heard: Mapping[int, int], now: float, down_s: float) -> None:
        """``heard``: host id -> what its row says now."""
        if self._since is None or now - self._last > down_s / 2:
            # It was not looked for a while: what is old by now may be as old as that.
            self._since, self._seen, self._heard = now, {}, dict(heard)
        changed = [key for key, at in heard.items() if self._heard.get(key) != at]
        self._seen = {key: at for key, at in self._seen.items() if key in heard}
        self._seen.update(dict.fromkeys(changed, now))
        self._heard, self._last = dict(heard), now

    def settle(self, now: float) -> None:
        """Take no host down until they had the time to come back."""
        self._since = now

    def judge(
        self,
        hosts: Mapping[int, str],
        known: Mapping[str, bool],
        now: float,
        down_s: float,
    ) -> Verdict:
        """``hosts``: id -> name, of all rows; ``known``: host -> whether it is up, as
        last told. A host with several nodes is up while one of them is."""
        alive = {hosts[key] for key, at in self._seen.items() if now - at <= down_s}
        up = _some(host for host in alive if not known.get(host, False))
        since = now if self._since is None else self._since
        if now - since < _SETTLING * down_s:
            return Verdict(up)
        silent = {host for host in hosts.values() if known.get(host) is True} - alive
        return Verdict(up, _some(silent), is_frozen=False)


def _some(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(hosts)[:_NEWS])


def _ids(state: State, places: tuple[Place, ...]) -> list[int | None]:
    """Ids of the hosts at ``places``; None: it is gone."""
    table = state.fleet.hosts
    rows = (table.row_of(host, node) for host, node in places)
    return [None if row is None else int(table.id[row]) for row in rows]


def _known(
    state: State, host_ids: tuple[int, ...]
) -> tuple[dict[int, str], dict[str, bool], bool]:
    """Those of the hosts that are there, by name; which were told to be up; whether
    that is frozen."""
    table = state.fleet.hosts
    rows = ((key, table.row_by_id.get(key)) for key in host_ids)
    hosts = {key: table.hosts[row] for key, row in rows if row is not None}
    return hosts, memberships(state), frozen_since(state) is not None
