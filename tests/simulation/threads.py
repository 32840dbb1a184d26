"""The engine's threads, locks and clock, as the simulated world has them.

Separate from ``world`` because these implement the interfaces of ``gantt.engine``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import TracebackType

from gantt.engine.threads import Condition, Lock, Thread, ThreadEvent
from tests.simulation.world import Actor, Site, World


class SimLock:
    """A lock whose waiters wait in simulated time."""

    def __init__(self, world: World, name: str = "a lock") -> None:
        self._world = world
        self._name = name
        self._is_taken = False

    def __repr__(self) -> str:
        return self._name

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._world.step(0.000_01)
        end = None if timeout < 0 else self._world.time + timeout
        while self._is_taken:
            left = None if end is None else end - self._world.time
            if not blocking or (left is not None and left <= 0):
                return False
            self._world.wait(self, left)
        self._is_taken = True
        return True

    def release(self) -> None:
        self._is_taken = False
        self._world.wake(self, 1)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class SimCondition(SimLock):
    """A condition with a lock of its own."""

    def wait_for(
        self, predicate: Callable[[], object], timeout: float | None = None
    ) -> object:
        end = None if timeout is None else self._world.time + timeout
        while not (found := predicate()):
            left = None if end is None else end - self._world.time
            if left is not None and left <= 0:
                return found
            self.release()
            self._world.wait((self, "notice"), left)
            self.acquire()
        return found

    def notify(self) -> None:
        self._world.wake((self, "notice"), 1)

    def notify_all(self) -> None:
        self._world.wake((self, "notice"))


class SimEvent:
    """A flag that can be waited for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_set = False

    def set(self) -> None:
        self._is_set = True
        self._world.wake(self)

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            self._world.wait(self, timeout)
        return self._is_set


class SimThread:
    """A thread of the engine."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor

    def join(self) -> None:
        while not self._actor.is_done and self._world.current is not self._actor:
            self._world.wait(self._actor)


class SimThreads:
    """Implements ``gantt.engine.threads.Threads`` for one process."""

    def __init__(self, world: World, site: Site) -> None:
        self._world = world
        self._site = site
        self._numbers = count()

    def _name(self, kind: str) -> str:
        return f"{kind} {next(self._numbers)} of {self._site}"

    def lock(self) -> Lock:
        return SimLock(self._world, self._name("lock"))

    def condition(self) -> Condition:
        return SimCondition(self._world, self._name("condition"))

    def event(self) -> ThreadEvent:
        return SimEvent(self._world)

    def start(self, run: Callable[[], None], name: str) -> Thread:
        short = f"{self._site}/{name.removeprefix('gantt-')}"
        return SimThread(self._world, self._world.spawn(run, short, self._site))


class SimClock:
    """Simulated time; what the wall clock shows is off by ``skew_us``, which jumps."""

    START_US = 1_700_000_000_000_000

    def __init__(self, world: World, skew_us: int = 0) -> None:
        self._world = world
        self.skew_us = skew_us

    def now(self) -> int:
        return self.START_US + int(self._world.time * 1_000_000) + self.skew_us

    def monotonic(self) -> float:
        return self._world.time

    def sleep(self, seconds: float) -> None:
        self._world.wait((self, "sleep"), seconds)
