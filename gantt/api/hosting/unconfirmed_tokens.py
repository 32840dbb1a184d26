"""Threads for requests whose token was not confirmed yet, apart from all others.

An unknown token has to be asked for at Keystone, which may be slow, and any caller can
make tokens up. So these requests have a few threads, of which one address has half at
the most, and a queue for each address; requests with known tokens never wait behind
them.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address, ip_network

from gantt.api.call import Environ

LOG = logging.getLogger(__name__)
_OF_ONE = 64
"""Bits of an IPv6 address that are the same for all addresses of one machine."""
Job = Callable[[], None]


def address_of(environ: Environ, is_behind_proxy: bool) -> str:
    """Whose queue a request waits in. Behind a proxy that is trusted: as that saw it,
    which is what it put last; callers may have put any before it."""
    found = str(environ.get("REMOTE_ADDR", ""))
    if is_behind_proxy:
        sent = str(environ.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
        found = sent or found
    try:
        address = ip_address(found.strip("[]"))
    except ValueError:
        return found
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ip_network((address, _OF_ONE), strict=False))


class Unconfirmed:
    """``threads`` at once, and ``per_address`` requests of one address that wait,
    ``most`` of all, the second half of them for addresses of which none waits;
    ``refused`` counts what found no place."""

    def __init__(self, threads: int, per_address: int, most: int) -> None:
        self.threads, self.per_address, self.most = threads, per_address, most
        self._most_of_one = max(1, threads // 2)
        self._lock = threading.Lock()
        # By address, in the order of their turns; how many of each are carried out.
        self._waiting: dict[str, deque[Job]] = {}
        self._running: dict[str, int] = {}
        self.waiting = self.refused = 0

    def at(self, address: str) -> Seat:
        """The queue of an address."""
        return Seat(self, address)

    def take(self, address: str, job: Job) -> bool:
        """Whether ``job`` was accepted. Never waits."""
        with self._lock:
            if self._has_thread_for(address):
                self._start(address, job)
                return True
            queue = self._waiting.get(address, deque())
            if not self._has_place_in(queue):
                self.refused += 1
                return False
            self._waiting[address] = queue
            queue.append(job)
            self.waiting += 1
            return True

    def _has_place_in(self, queue: deque[Job]) -> bool:
        is_half_full = 2 * self.waiting >= self.most
        return self.waiting < self.most and len(queue) < (
            1 if is_half_full else self.per_address
        )

    def _has_thread_for(self, address: str) -> bool:
        is_free = sum(self._running.values()) < self.threads
        return is_free and self._running.get(address, 0) < self._most_of_one

    def _start(self, address: str, job: Job) -> None:
        """In a thread of its own, which costs little beside what it waits for; under
        the lock."""
        self._running[address] = self._running.get(address, 0) + 1
        threading.Thread(
            target=self._work,
            args=(address, job),
            name="gantt-unconfirmed",
            daemon=True,
        ).start()

    def _work(self, address: str, job: Job) -> None:
        try:
            job()
        except BaseException:  # the thread must give its place back
            LOG.exception("gantt-unconfirmed: a job failed")
        with self._lock:
            self._running[address] -= 1
            if not self._running[address]:
                del self._running[address]
            self._start_next()

    def _start_next(self) -> None:
        for address in list(self._waiting):
            if self._has_thread_for(address):
                queue = self._waiting.pop(address)
                job = queue.popleft()
                self.waiting -= 1
                if queue:
                    self._waiting[address] = queue  # the last in turn
                self._start(address, job)
                return


class Seat:
    """Where the requests of one address are handed in, as to a pool."""

    waiting = 0

    def __init__(self, threads: Unconfirmed, address: str) -> None:
        self._threads, self._address = threads, address

    def take(self, job: Job) -> bool:
        """Whether ``job`` was accepted. Never waits."""
        return self._threads.take(self._address, job)

    def catch_up(self) -> None:
        """No threads are kept back."""
