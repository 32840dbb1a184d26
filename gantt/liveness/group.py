"""Membership in a group, through tooz: the one place that talks to its service.

Separate from who is a member and what follows from it. A member that the service has
forgotten joins again with its next heartbeat.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from tooz import coordination

from gantt.errors import Refused, Unavailable
from gantt.liveness.options import CoordinationOptions

T = TypeVar("T")

HOST: Final = "host:"
WATCHER: Final = "watcher:"
MOST: Final = 4
"""Calls of one member that are under way at the same time: one that is waited for, and
others that never returned."""


class Group:
    """The group as one member, in one thread. ``name``: ``HOST`` and a host, or
    ``WATCHER`` and what tells processes apart."""

    def __init__(self, options: CoordinationOptions, name: str) -> None:
        """Does not connect. Raises Refused (the URL cannot be used)."""
        self._options = options
        self._group = options.group.encode()
        self._member = quote(name, safe=":").encode()
        self._timeout_s = options.heartbeat_interval
        self._session: _Session | None = None
        self._calls = Calls(self._timeout_s)
        self._made()

    def beat(self) -> None:
        """Be a member for another interval. Raises Unavailable."""
        self._ask(_Session.beat)

    def members(self) -> frozenset[str] | None:
        """The names of all members; None: this one is not among them, so the service
        has forgotten members. Raises Unavailable."""
        return self._ask(_Session.members)

    def leave(self) -> None:
        """Be no member, at once if the service answers, else when the time is over."""
        if self._session is not None:
            with contextlib.suppress(Unavailable):
                self._ask(_Session.leave)
        self._give_up()

    def _made(self) -> Any:
        """Raises Refused."""
        try:
            return coordination.get_coordinator(
                self._options.backend_url,
                self._member,
                timeout=self._timeout_s,
                membership_timeout=self._timeout_s,
            )
        except Exception as error:
            raise Refused(
                "backend_url of [coordination] cannot be used; give it as tooz does, "
                f"such as redis://127.0.0.1:6379: {error}"
            ) from error

    def _ask(self, act: Callable[[_Session], T]) -> T:
        """What ``act`` answers, given a session that has begun; one that fails is given
        up. Raises Unavailable."""
        session = self._session or _Session(self._made(), self._group, self._member)
        self._session = session
        try:
            return self._calls.within(lambda: act(session.begun()))
        # Drivers let errors of their libraries through.
        except Exception as error:
            self._give_up()
            raise Unavailable(
                f"The service of [coordination] backend_url does not answer: {error}"
            ) from error

    def _give_up(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(Exception):
                self._calls.within(session.coordinator.stop)


class _Session:
    """One connection, and what is known by it. A call that took too long may still be
    at work on it when the group has another."""

    def __init__(self, coordinator: Any, group: bytes, member: bytes) -> None:
        self.coordinator = coordinator
        self._group = group
        self._member = member
        self._has_begun = False
        self._has_joined = False

    def begun(self) -> _Session:
        """Itself, connected."""
        if not self._has_begun:
            self.coordinator.start()
            self._has_begun = True
        return self

    def beat(self) -> None:
        self.coordinator.heartbeat()
        if not self._is_member():
            self._join()

    def members(self) -> frozenset[str] | None:
        found = self.coordinator.get_members(self._group).get()
        if self._member not in found:
            return None
        return frozenset(unquote(one.decode()) for one in found)

    def leave(self) -> None:
        self.coordinator.leave_group(self._group).get()

    def _is_member(self) -> bool:
        if not self._has_joined:
            return False
        asked = self.coordinator.get_member_capabilities(self._group, self._member)
        try:
            asked.get()
        except (coordination.MemberNotJoined, coordination.GroupNotCreated):
            return False
        return True

    def _join(self) -> None:
        try:
            self._join_group()
        except coordination.GroupNotCreated:
            with contextlib.suppress(coordination.GroupAlreadyExist):
                self.coordinator.create_group(self._group).get()
            self._join_group()
        self._has_joined = True

    def _join_group(self) -> None:
        """What is there under its name is of a session that ended, and ends with it."""
        try:
            self.coordinator.join_group(self._group).get()
        except coordination.MemberAlreadyExist:
            with contextlib.suppress(coordination.MemberNotJoined):
                self.leave()
            self.coordinator.join_group(self._group).get()


class Calls:
    """Calls that are waited for at most ``timeout_s``. Some drivers try again for as
    long as their server is away: such a call goes on in a thread that nothing waits
    for, and while there are ``MOST`` of these, no other begins."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._seats = threading.BoundedSemaphore(MOST)

    def within(self, act: Callable[[], T]) -> T:
        """What ``act`` answers. Raises what it raises, and TimeoutError."""
        if not self._seats.acquire(timeout=self._timeout_s):
            raise TimeoutError(
                f"{MOST} earlier calls have had no answer for {self._timeout_s:g} s"
            )
        answer: Future[T] = Future()

        def run() -> None:
            try:
                answer.set_result(act())
            except BaseException as error:
                answer.set_exception(error)
            finally:
                self._seats.release()

        threading.Thread(target=run, name="gantt-coordination", daemon=True).start()
        try:
            return answer.result(self._timeout_s)
        except TimeoutError:
            raise TimeoutError(f"no answer within {self._timeout_s:g} s") from None
