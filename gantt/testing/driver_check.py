"""What a driver of another package must hold, tried on drawn fleets and requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, TypeAlias

import msgspec
import numpy as np

from gantt.errors import Invalid, NoValidHost, PluginFailed, Refused
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.contract import Chooser
from gantt.scheduler.evaluation.choosers import GuardedChooser, guarded
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.feasibility.candidate_sources import REPORT_SOURCE
from gantt.scheduler.plugins.policy import policy_of
from gantt.testing.checks import SEEDS, Snapshots, Tried, Unfit
from gantt.testing.worlds import USUAL, Values, World

_COUNTS: Final = (1, 3)
_CHANGES: Final = 3
_MANY: Final = 1_000
Case: TypeAlias = tuple[FeasibleHosts, int]
"""The hosts that pass, and the number of instances."""


def check_driver(
    plugin: Callable[[], object] | Chooser,
    *,
    values: Values = USUAL,
    seeds: Iterable[int] = SEEDS,
    limit_s: float = 1.0,
) -> Tried:
    """Check a driver of another package: its class, or an instance.

    Each of ``seeds`` is a world that ``values`` takes part in. ``limit_s``: for one
    call about 1,000 hosts. ``refused`` counts hosts that no instance may try. Raises
    Unfit.
    """
    return _Checks(plugin, values).run(seeds, limit_s)


class _Checks:
    """All checks of one driver."""

    def __init__(self, plugin: Callable[[], object] | Chooser, values: Values) -> None:
        self._plugin, self._values = plugin, values
        self._ours = filtering(policy_of(values.options))
        kind = type(plugin) if isinstance(plugin, Chooser) else plugin
        self._name = getattr(kind, "__qualname__", repr(kind))
        self._outside = Snapshots()
        self._one = self._made()
        self._hosts = self._refused = 0

    def run(self, seeds: Iterable[int], limit_s: float) -> Tried:
        """Try it. Raises Unfit."""
        worlds = 0
        for seed in seeds:
            worlds += 1
            world = World(seed, self._values)
            for _ in range(_CHANGES):
                self._check(world, f"{self._name} (seed {seed})")
                world.change()
        self._outside.slowest_s = 0.0
        world = World(0, self._values, _MANY)
        for case in self._cases(world, self._specs(world)):
            self._ask(self._one, case)
        slowest_s = self._outside.slowest_s
        if slowest_s > limit_s:
            raise Unfit(
                f"{self._name} ({_MANY:,} hosts) takes {slowest_s:.2f} s, and "
                f"{limit_s:g} s were allowed (limit_s)."
            )
        return Tried(worlds, self._hosts, self._refused, slowest_s)

    def _made(self) -> GuardedChooser:
        """A new one where a class was given, else the same."""
        plugin = self._plugin
        try:
            if isinstance(plugin, Chooser):
                return GuardedChooser(self._name, plugin, self._outside)
            return guarded(self._name, plugin, self._outside)
        except Refused as error:
            raise Unfit(str(error)) from error
        except Exception as error:
            raise Unfit(
                f"{self._name} cannot be made without arguments: "
                f"{type(error).__name__}: {error}."
            ) from error

    def _check(self, world: World, where: str) -> None:
        specs = self._specs(world)
        cases = self._cases(world, specs)
        given = world.facts(), msgspec.msgpack.encode(specs)
        found = [self._ask(self._one, case) for case in cases]
        if (world.facts(), msgspec.msgpack.encode(specs)) != given:
            raise Unfit(f"{where} changes the fleet or the request: work on copies.")
        if [self._ask(self._one, case) for case in cases] != found:
            raise Unfit(
                f"{where} answers the same question differently: let its answer depend "
                "on its arguments alone, and draw random numbers from seed."
            )
        new = self._made()
        if [self._ask(new, case) for case in cases[::-1]] != found[::-1]:
            raise Unfit(
                f"{where} answers differently from one that was just made: let its "
                "answer depend on its arguments alone."
            )

    def _specs(self, world: World) -> list[RequestSpec]:
        return list(islice(world.specs(), 4 + len(self._values.requests)))

    def _cases(self, world: World, specs: list[RequestSpec]) -> list[Case]:
        cases = []
        for number, spec in enumerate(specs):
            try:
                found = self._ours.feasible_hosts(
                    world.state, spec, REPORT_SOURCE, now=world.now, budget=Budget()
                )
            except (Invalid, NoValidHost):
                continue
            if number % 2 and len(found.hosts):
                found.weights[-1] = -np.inf  # as if it were held for another request
            cases += [(found, count) for count in _COUNTS]
        return cases

    def _ask(self, one: GuardedChooser, case: Case) -> list[bytes] | str | None:
        """The rows for each instance; or the text of Invalid; None: not asked."""
        feasible, count = case
        hosts = feasible.hosts
        try:
            found = one.choose(feasible, hosts, feasible.weights, count, seed=1)
        except Invalid as error:
            self._hosts += len(hosts)
            self._refused += len(hosts)
            return str(error)
        except PluginFailed as failed:
            raise Unfit(failed.message) from failed
        if found is None:
            return None
        self._hosts += len(hosts)
        self._refused += len(hosts) - len(found.rows)
        return [order.tobytes() for order in found.orders]
