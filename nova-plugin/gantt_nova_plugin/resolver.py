"""Names become addresses in a thread of their own: getaddrinfo knows no time limit."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from gantt_nova_plugin.deadline import Deadline, OutOfTime

FRESH_S = 60.0

AddressInfo = tuple[Any, ...]


class Resolved(NamedTuple):
    """Addresses of one name, and when they were found."""

    addresses: tuple[AddressInfo, ...]
    at: float


class Lookup:
    """One call of getaddrinfo, whose end may be waited for by several threads."""

    def __init__(self, name: tuple[str, int]) -> None:
        self.name = name
        self.done = threading.Event()
        self.addresses: tuple[AddressInfo, ...] = ()
        self.error: OSError | None = None


class Resolver:
    """One lookup of a name at a time; what was found serves for a minute, and then
    until the next lookup, which runs meanwhile, has found something.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int], Resolved] = {}
        self._lookup: Lookup | None = None

    def addresses(
        self, host: str, port: int, deadline: Deadline
    ) -> tuple[AddressInfo, ...]:
        """What getaddrinfo says; its OSError, or `OutOfTime`."""
        known = self._known.get((host, port))
        if known is not None and self._clock() - known.at < FRESH_S:
            return known.addresses
        numeric = _numeric(host, port)
        if numeric:
            return numeric
        lookup = self._started((host, port))
        if known is not None:
            return known.addresses  # no call waits for the next ones
        if lookup.done.wait(deadline.left()) and lookup.error is None:
            return lookup.addresses
        raise lookup.error or OutOfTime()

    def _started(self, name: tuple[str, int]) -> Lookup:
        with self._lock:
            lookup = self._lookup
            if lookup is None or lookup.name != name:
                lookup = Lookup(name)
                threading.Thread(
                    target=self._look_up,
                    args=(lookup,),
                    name="gantt-resolver",
                    daemon=True,
                ).start()
                self._lookup = lookup  # unless no thread can be started
            return lookup

    def _look_up(self, lookup: Lookup) -> None:
        try:
            lookup.addresses = tuple(_getaddrinfo(*lookup.name, 0))
            self._known = {lookup.name: Resolved(lookup.addresses, self._clock())}
        except OSError as error:
            lookup.error = error
        except Exception as error:  # a name that IDNA cannot encode
            lookup.error = OSError(type(error).__name__)
        finally:
            with self._lock:
                if self._lookup is lookup:
                    self._lookup = None
            lookup.done.set()


def _numeric(host: str, port: int) -> tuple[AddressInfo, ...]:
    try:
        return tuple(_getaddrinfo(host, port, socket.AI_NUMERICHOST))
    except (OSError, UnicodeError):
        return ()


def _getaddrinfo(host: str, port: int, flags: int) -> list[AddressInfo]:
    return list(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, flags))
