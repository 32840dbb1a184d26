"""One seed is one schedule, and deadlocks are detected."""

from __future__ import annotations

import pytest

from tests.simulation.threads import SimLock, SimThreads
from tests.simulation.world import Crashed, Site, Stuck, World


def order_of(seed: int) -> list[str]:
    world = World(seed)
    seen: list[str] = []

    def walk(name: str) -> None:
        for _ in range(20):
            seen.append(name)
            world.step()

    for name in "abc":
        world.spawn(lambda n=name: walk(n), name)  # type: ignore[misc]
    world.run()
    return seen


def test_seed_determines_the_schedule() -> None:
    assert order_of(1) == order_of(1)
    assert len({tuple(order_of(seed)) for seed in range(5)}) > 1


def test_time_advances_when_all_actors_wait() -> None:
    world = World(1)
    woken: list[bool] = []
    world.spawn(lambda: woken.append(world.wait("nothing", 3600.0)), "sleeper")
    world.run()
    assert woken == [False]
    assert world.time >= 3600.0


def test_deadlock_is_reported() -> None:
    world = World(1)
    locks = SimLock(world, "left"), SimLock(world, "right")

    def take(first: SimLock, second: SimLock) -> None:
        with first:
            world.wait("a while", 1.0)
            with second:
                pass

    world.spawn(lambda: take(*locks), "one")
    world.spawn(lambda: take(*reversed(locks)), "other")
    with pytest.raises(Stuck, match="one for right, other for left"):
        world.run()


def test_killed_site_stops_immediately() -> None:
    world, site = World(1), Site("a1")
    ends: list[str] = []

    def live() -> None:
        try:
            world.wait("nothing")
        except Crashed:
            ends.append("crashed")
            raise

    threads = SimThreads(world, site)
    waiting = threads.start(live, "gantt-one")
    world.spawn(lambda: world.kill(site), "killer")
    world.spawn(waiting.join, "mourner")
    world.run()
    assert ends == ["crashed"]


def test_paused_site_does_nothing() -> None:
    world, site = World(1), Site("a1")
    moments: list[float] = []
    site.paused_until = 5.0
    world.spawn(lambda: moments.append(world.time), "paused", site)
    world.run()
    assert moments[0] >= 5.0


def test_actor_error_is_raised() -> None:
    world = World(1)

    def fail() -> None:
        raise ValueError("mine")

    world.spawn(fail, "one")
    with pytest.raises(ValueError, match="mine"):
        world.run()
