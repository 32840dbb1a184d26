"""Requests whose outcome at Nova is not known yet.

Separate from the thread that settles them because ends of requests arrive here too, and
limits apply.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from msgspec.structs import replace

from gantt.engine.options import ShadowOptions
from gantt.engine.shadow.nova_verdict import Observed
from gantt.placement.claimed_hosts import ClaimedHost


class Waiting:
    """One request. ``left``: numbers of its instances without a verdict;
    ``uuids``: those that are known, by number; ``seen_at``: when this process first
    saw a claim of one."""

    def __init__(self, observed: Observed, until: float) -> None:
        self.observed = observed
        self.until = until
        self.left = set(range(observed.count))
        self.uuids = dict(enumerate(observed.instance_uuids))
        self.ended_at: int | None = None
        self.seen_at: float | None = None
        self.key = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The hosts that it keeps."""
        return self.observed.hosts

    @property
    def ended_first(self) -> bool:
        """Whether Nova had decided before Gantt did."""
        return self.ended_at is not None and self.ended_at <= self.observed.judged.at

    def judge_again(self, observed: Observed) -> None:
        """A later stage of the same request; it counts instead of the first."""
        with self._lock:
            first = self.observed
            judged = observed.judged
            took_s = first.judged.took_s + judged.took_s
            self.observed = replace(
                observed,
                judged=replace(judged, took_s=took_s),
                asked_at=first.asked_at,
                hosts=first.hosts,
            )

    def ranked(self) -> Observed:
        """The request with its ranking."""
        one = self.observed
        if one.later is None:
            return one
        judged = replace(one.judged, ranking=one.later())
        return replace(one, judged=judged, later=None)

    @property
    def nova_s(self) -> float | None:
        """How long Nova took; None: not known."""
        if self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.observed.asked_at) / 1_000_000)

    def claimed_after(self, seen: ClaimedHost) -> float | None:
        """Seconds from Nova's question to its claim; None: not known. What another
        service keeps, and what hosts name, is seen late; MySQL and MariaDB keep whole
        seconds of the time."""
        at = seen.at or 0
        if seen.learnt_from != "allocations" or at % 1_000_000 == 0:
            return None
        return max(0.0, (at - self.observed.asked_at) / 1_000_000)

    def end(self, at: int, uuid: str | None) -> None:
        """Nova has selected hosts. ``uuid``: of the last instance, which is all that
        the notification names."""
        self.ended_at = at
        last = self.observed.count - 1
        if uuid is not None and uuid not in self.uuids.values():
            self.uuids.setdefault(last, uuid)


class PendingRequests:
    """All of them, the oldest first; thread safe. ``dropped``: requests beyond a
    limit."""

    def __init__(self, options: ShadowOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._all: dict[int, Waiting] = {}
        self._by_uuid: dict[str, int] = {}
        self._number = self._size = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._all)

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, one: Waiting) -> list[Waiting]:
        """Those that are dropped for it."""
        dropped = []
        with self._lock:
            self._number += 1
            one.key = self._number
            self._all[one.key] = one
            self._size += one.size
            self._index(one)
            while self._is_over() and len(self._all) > 1:
                dropped.append(self._remove(next(iter(self._all))))
        self.dropped += len(dropped)
        return dropped

    def _is_over(self) -> bool:
        options = self._options
        return (
            len(self._all) > options.shadow_pending
            or self._size > options.shadow_pending_hosts
        )

    def of(self, uuid: str | None, request_id: str = "") -> Waiting | None:
        """The request for an instance; None: it is not pending. ``uuid`` may be one
        that was not known: then the request id tells, if there is only one."""
        with self._lock:
            number = None if uuid is None else self._by_uuid.get(uuid)
            if number is not None:
                return self._all[number]
            same = [
                one
                for one in self._all.values()
                if request_id and one.observed.request_id == request_id
            ]
        return same[0] if len(same) == 1 else None

    def name(self, one: Waiting) -> None:
        """Its instances are known by more names than before."""
        with self._lock:
            if one.key in self._all:
                self._index(one)

    def _index(self, one: Waiting) -> None:
        self._by_uuid.update(dict.fromkeys(one.uuids.values(), one.key))

    def remove(self, one: Waiting) -> None:
        """It is settled."""
        with self._lock:
            if one.key in self._all:
                self._remove(one.key)

    def _remove(self, number: int) -> Waiting:
        gone = self._all.pop(number)
        self._size -= gone.size
        for uuid in gone.uuids.values():
            if self._by_uuid.get(uuid) == number:
                del self._by_uuid[uuid]
        return gone

    def each(self) -> Iterator[Waiting]:
        """All that are waited for, as they are now."""
        with self._lock:
            return iter(list(self._all.values()))
