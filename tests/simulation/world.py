"""The schedule of actors: threads that pass on one baton, in simulated time, at random
by a seed.

Only the actor with the baton runs, and it is passed on at locks, waits and statements
only; so a run is a function of its seed. Time advances a little at each step, and to
the next deadline when all actors wait. This module does not depend on what actors do.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable

from msgspec import Struct

_STEP_S = 0.000_2


class Crashed(BaseException):
    """Raised in the actors of a killed process; never caught."""


class Stuck(Exception):
    """All actors wait forever, or the run does not end."""


class Site:
    """A process of the simulation: its actors are killed and paused together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.paused_until = 0.0

    def __str__(self) -> str:
        return self.name


class Actor:
    """One thread of the simulation."""

    def __init__(self, name: str, site: Site | None) -> None:
        self.name = name
        self.site = site
        self.baton = threading.Semaphore(0)
        self.waits_for: Hashable | None = None
        self.deadline: float | None = None
        self.was_woken = False
        self.is_done = False
        self.error: BaseException | None = None

    @property
    def is_dead(self) -> bool:
        """Whether its process was killed."""
        return self.site is not None and self.site.is_dead


class Event(Struct, frozen=True):
    """A line of the trace."""

    tick: int
    time: float
    who: str
    text: str


class World:
    """All actors, the time, and the trace. ``tick`` counts steps."""

    def __init__(
        self, seed: object, *, max_ticks: int = 5_000_000, max_s: float = 4 * 3600
    ) -> None:
        self._rng = random.Random(f"{seed} schedule")
        # The probability that the same actor continues.
        self._calm = self._rng.choice((0.0, 0.3, 0.6, 0.9))
        self._max_ticks = max_ticks
        self._max_s = max_s
        self._actors: list[Actor] = []
        self._main = Actor("main", None)
        self.current = self._main
        self.time = 0.0
        self.tick = 0
        self.trace: list[Event] = []
        self.problem: Stuck | None = None

    def tell(self, text: str, who: str | None = None) -> None:
        """Add a line to the trace."""
        name = who or self.current.name
        self.trace.append(Event(self.tick, self.time, name, text))

    def spawn(
        self, run: Callable[[], None], name: str, site: Site | None = None
    ) -> Actor:
        """A new actor, which begins when it gets the baton."""
        actor = Actor(name, site)
        self._actors.append(actor)
        threading.Thread(
            target=self._live, args=(actor, run), name=name, daemon=True
        ).start()
        return actor

    def run(self) -> None:
        """Run until all actors have ended. Raises Stuck, and what an actor raised."""
        self._hand_on()
        if self.problem is not None:
            raise self.problem
        for actor in self._actors:
            if actor.error is not None:
                raise actor.error

    def step(self, seconds: float = _STEP_S) -> None:
        """Time passes; another actor may run first. Raises Crashed."""
        self._check_alive()
        self.time += seconds * (0.5 + self._rng.random())
        self._hand_on()
        self._check_alive()

    def wait(self, thing: Hashable, timeout: float | None = None) -> bool:
        """Wait until ``thing`` is woken; False: timed out. Raises Crashed."""
        self._check_alive()
        actor = self.current
        actor.waits_for = thing
        actor.deadline = None if timeout is None else self.time + timeout
        actor.was_woken = False
        self._hand_on()
        self._check_alive()
        return actor.was_woken

    def wake(self, thing: Hashable, count: int | None = None) -> None:
        """Wake the actors that wait for ``thing``, or the first ``count`` of them."""
        waiting = [one for one in self._actors if one.waits_for == thing]
        for actor in waiting[:count]:
            self._ready(actor)
            actor.was_woken = True

    def kill(self, site: Site) -> None:
        """Every actor of ``site`` ends at once."""
        site.is_dead = True
        site.paused_until = 0.0
        for actor in self._actors:
            if actor.site is site:
                self._ready(actor)

    def alive_on(self, site: Site) -> list[Actor]:
        """The actors of ``site`` that have not ended yet."""
        return [a for a in self._actors if a.site is site and not a.is_done]

    # -- how the baton is handed on -----------------------------------------------

    def _live(self, actor: Actor, run: Callable[[], None]) -> None:
        actor.baton.acquire()
        try:
            self._check_alive()
            run()
        except Crashed:
            pass
        except BaseException as error:
            actor.error = error
        actor.is_done = True
        if actor.error is None:
            self._actors.remove(actor)
        self.wake(actor)
        self._pass_to(self._next())

    def _check_alive(self) -> None:
        if self.current.is_dead:
            raise Crashed

    def _hand_on(self) -> None:
        me = self.current
        following = self._next()
        if following is not me:
            self._pass_to(following)
            me.baton.acquire()

    def _pass_to(self, actor: Actor) -> None:
        self.current = actor
        actor.baton.release()

    @staticmethod
    def _ready(actor: Actor) -> None:
        actor.waits_for = actor.deadline = None

    def _next(self) -> Actor:
        """The next actor; main when all have ended or none can run."""
        self.tick += 1
        if self.tick > self._max_ticks or self.time > self._max_s:
            return self._give_up(f"no end after {self.tick} steps, {self.time:.0f} s")
        while True:
            living = [one for one in self._actors if not one.is_done]
            if not living or any(one.error for one in self._actors):
                return self._main
            self._ring(living)
            free = [one for one in living if self._is_free(one)]
            if free:
                if self.current in free and self._rng.random() < self._calm:
                    return self.current
                return free[int(self._rng.random() * len(free))]
            if not self._pass_time(living):
                return self._give_up("all actors wait")

    def _give_up(self, text: str) -> Actor:
        living = [one for one in self._actors if not one.is_done]
        waits = ", ".join(f"{a.name} for {a.waits_for}" for a in living if a.waits_for)
        self.problem = self.problem or Stuck(f"{text}: {waits}")
        return self._main

    def _is_free(self, actor: Actor) -> bool:
        is_paused = actor.site is not None and actor.site.paused_until > self.time
        return actor.waits_for is None and not is_paused

    def _ring(self, living: list[Actor]) -> None:
        """Wake the actors whose wait has timed out."""
        for actor in living:
            if actor.deadline is not None and actor.deadline <= self.time:
                self._ready(actor)

    def _pass_time(self, living: list[Actor]) -> bool:
        """Advance to the next deadline, or end of a pause; False when there is none."""
        moments = [a.deadline for a in living if a.deadline is not None]
        moments += [
            a.site.paused_until for a in living if a.site and a.waits_for is None
        ]
        later = [moment for moment in moments if moment > self.time]
        if later:
            self.time = min(later)
        return bool(later)
