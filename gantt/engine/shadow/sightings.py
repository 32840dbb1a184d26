"""Where instances were claimed, as this process learns it.

From Changes as they are applied (so that a claim is seen even if it is soon gone), from
the State (what was there before), and from a remote Placement by asking it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.errors import GanttError
from gantt.model.changes import Change
from gantt.model.rows import AllocationRow, InstanceRow
from gantt.placement.claimed_hosts import ClaimedHost, claimed, claimed_on, is_since
from gantt.state.state import State

_POLL_S: Final = 1.0
_POLLS: Final = 32
"""Questions to a remote Placement in one round; the others wait for the next."""


class Sought(Struct, frozen=True):
    """An instance to be claimed after ``since``, on none of the hosts ``had``."""

    uuid: str
    since: int
    had: frozenset[str] = frozenset()


class Sighting(Struct, frozen=True):
    """A claim, to be believed once ``revision`` is durable."""

    claimed: ClaimedHost
    revision: int


class ClaimSightings:
    """Implements ChangeListener. ``remote``: where claims are made; None: here."""

    def __init__(
        self,
        replica: Replica,
        reader: Reader,
        clock: Clock,
        remote: RemoteBooks | None = None,
    ) -> None:
        self._replica, self._reader = replica, reader
        self._clock, self._remote = clock, remote
        self._lock = threading.Lock()
        self._sought: dict[str, Sought] = {}
        self._seen: dict[str, list[Sighting]] = {}
        self._asked_at: dict[str, float] = {}
        self.polls = self.poll_failures = 0
        self.is_any = False

    def seek(self, sought: Sought) -> None:
        """Look out for its claim from now on."""
        with self._lock:
            self._sought[sought.uuid] = sought
            self._replica.listener = self

    def forget(self, uuids: Iterable[str]) -> None:
        """These are settled."""
        with self._lock:
            for uuid in uuids:
                for table in (self._sought, self._seen, self._asked_at):
                    table.pop(uuid, None)
            if not self._sought:
                self._replica.listener = None

    # -- as Changes are applied ---------------------------------------------------

    def applied(self, state: State, changes: Collection[Change]) -> None:
        """See ``ChangeListener``."""
        for change in changes:
            new = change.new
            if isinstance(new, AllocationRow):
                sought = self._sought.get(new.consumer_id)
                if sought is not None:
                    provider = state.providers.row_by_id[new.resource_provider_id]
                    at = new.updated_at or new.created_at
                    self._note(sought, claimed_on(state, provider, at), state.revision)
            elif isinstance(new, InstanceRow):
                sought = self._sought.get(new.uuid)
                if sought is not None:
                    for one in claimed(state, new.uuid, sought.since):
                        self._note(sought, one, state.revision)

    def undone(self, revision: int) -> None:
        """See ``ChangeListener``."""
        with self._lock:
            for uuid, seen in self._seen.items():
                self._seen[uuid] = [one for one in seen if one.revision <= revision]

    def _note(self, sought: Sought, found: ClaimedHost, revision: int) -> None:
        if found.host not in sought.had and is_since(found.at, sought.since):
            with self._lock:
                if sought.uuid in self._sought:
                    mine = self._seen.setdefault(sought.uuid, [])
                    mine.append(Sighting(found, revision))

    # -- by looking ---------------------------------------------------------------

    def look(self) -> dict[str, ClaimedHost]:
        """The claims of those sought, as far as they are made. Raises StoreFailed."""
        with self._lock:
            missing = [s for u, s in self._sought.items() if not self._seen.get(u)]
        if missing:
            # Also brings this process up to what others have committed.
            self._reader.read(self._look_in, missing, consistency=Consistency.ASSUMED)
            if self._remote is not None:
                self._poll(self._remote, missing)
        durable = self._replica.durable
        with self._lock:
            found = {
                uuid: _first(one for one in seen if one.revision <= durable)
                for uuid, seen in self._seen.items()
            }
        made = {uuid: one for uuid, one in found.items() if one is not None}
        self.is_any |= bool(made)
        return made

    def _look_in(self, state: State, missing: list[Sought]) -> None:
        for sought in missing:
            for one in claimed(state, sought.uuid, sought.since):
                self._note(sought, one, state.revision)

    def _poll(self, remote: RemoteBooks, missing: list[Sought]) -> None:
        now = self._clock.monotonic()
        due = [s for s in missing if self._asked_at.get(s.uuid, 0.0) + _POLL_S <= now]
        for sought in due[:_POLLS]:
            self._asked_at[sought.uuid] = now
            self.polls += 1
            try:
                view = remote.consumer(sought.uuid)
            except GanttError:  # it is asked again; outages are logged elsewhere
                self.poll_failures += 1
                return
            uuids = () if view is None else tuple(view.allocations)
            names = self._reader.read(
                _places, uuids, self._clock.now(), consistency=Consistency.LOCAL
            )
            for one in names:
                self._note(sought, one, 0)


def _places(state: State, uuids: tuple[str, ...], at: int) -> list[ClaimedHost]:
    """The hosts that remote providers stand for, known ones first."""
    found = []
    for uuid in uuids:
        row = state.fleet.hosts.row_of_uuid(uuid)
        if row is None:
            found.append(ClaimedHost(uuid, uuid, False, at, "remote allocations"))
        else:
            hosts = state.fleet.hosts
            place = hosts.hosts[row], hosts.nodes[row]
            found.insert(0, ClaimedHost(*place, True, at, "remote allocations"))
    return found


def _first(seen: Iterable[Sighting]) -> ClaimedHost | None:
    """The earliest claim, on a host that is known if there is one at that time."""
    found = list(seen)
    if not found:
        return None
    same_time = [one for one in found if one.revision == found[0].revision]
    known = (one for one in same_time if one.claimed.is_known)
    return next(known, same_time[0]).claimed
