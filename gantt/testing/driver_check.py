"""What a driver must hold, tried on drawn fleets and requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import msgspec

from gantt.errors import PluginFailed, Refused
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.plugins.drivers import GuardedDriver
from gantt.scheduler.policy import Policy, policy_of
from gantt.testing.checks import SEEDS, Unfit, decision
from gantt.testing.worlds import USUAL, Values, World

_CHANGES = 6


def check_driver(
    made: Callable[[Policy], Driver],
    *,
    values: Values = USUAL,
    seeds: Iterable[int] = SEEDS,
) -> None:
    """Check a driver by its class: it may remember, but what it answers depends on its
    arguments alone. Raises Unfit."""
    name = getattr(made, "__qualname__", repr(made))
    policy = policy_of(values.options)

    def driver() -> GuardedDriver:
        try:
            return GuardedDriver(name, made(policy))
        except Refused as error:
            raise Unfit(str(error)) from error

    for seed in seeds:
        world, old = World(seed, values), driver()
        specs = list(islice(world.specs(), 2 + len(values.requests)))
        for _ in range(_CHANGES):
            given = world.facts(), msgspec.msgpack.encode(specs)
            for spec in specs:
                known, new = decision(old, world, spec), decision(driver(), world, spec)
                if known != new:
                    raise Unfit(
                        f"{name} (seed {seed}) decides otherwise than one that was "
                        f"just made: {known} instead of {new}"
                    )
            _check_without(old, name, seed)
            if (world.facts(), msgspec.msgpack.encode(specs)) != given:
                raise Unfit(f"{name} (seed {seed}) changes the fleet or the request")
            world.change()


def _check_without(driver: GuardedDriver, name: str, seed: int) -> None:
    try:
        less = driver.without("ComputeFilter")
    except PluginFailed as failed:
        raise Unfit(failed.message) from failed
    if less is not None and any(
        one.name == "ComputeFilter" for one in less.policy.filters
    ):
        raise Unfit(
            f"{name} (seed {seed}) gives a driver without ComputeFilter that has it"
        )
