"""What a filter or weigher must hold, tried on drawn fleets and requests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import islice
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from gantt.engine.clock import SystemClock
from gantt.errors import Invalid, NoValidHost, PluginFailed, Refused
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import caching, filtering
from gantt.scheduler.feasibility.candidate_sources import REPORT_SOURCE
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from gantt.scheduler.plugins.plugin_calls import Check, NamedPlugin
from gantt.scheduler.plugins.policy import Policy
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_snapshot import ColumnsRead, FleetSnapshot
from gantt.testing.worlds import USUAL, Values, World

T = TypeVar("T")
SEEDS: Final = range(40)
_CHANGES: Final = 6
_MANY: Final = 1_000
Answer: TypeAlias = bytes | str
"""The bytes of an array, or the text of errors.Invalid."""


class Unfit(AssertionError):
    """What the plug-in does wrong, in which world, and how to mend it."""


class Tried(Struct, frozen=True):
    """What was tried, so that a test can assert that it was enough: in how many worlds,
    how often a host was judged and refused (all of them where the request was Invalid),
    and the slowest call on 1,000 hosts."""

    worlds: int
    hosts: int
    refused: int
    slowest_s: float


class Snapshots:
    """Calls plug-ins as the engine does (``Outside``), with a copy of the fleet. Times
    each call instead of limiting it."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self.slowest_s = 0.0

    def frozen(self, fleet: Fleet) -> Fleet:
        return FleetSnapshot(fleet, ColumnsRead(), nullcontext())

    def call(self, plugin: NamedPlugin, ask: Callable[[Check], T]) -> T:  # noqa: ARG002
        began = self._clock.monotonic()
        try:
            return ask(lambda: None)
        finally:
            self.slowest_s = max(self.slowest_s, self._clock.monotonic() - began)


def check_filter(
    plugin: object,
    *,
    values: Values = USUAL,
    seeds: Iterable[int] = SEEDS,
    limit_s: float = 1.0,
) -> Tried:
    """Check a filter, Gantt's kind or Nova's: its class, or an instance.

    Each of ``seeds`` is a world that ``values`` takes part in. ``limit_s``: for one
    call about 1,000 hosts. Raises Unfit.
    """

    def guarded(made: object, outside: Snapshots) -> Guarded:
        if isinstance(made, Filter):
            return GuardedFilter(type(made).__name__, made, outside)
        return LegacyFilter(made, outside)

    return _Checks(plugin, guarded, values).run(seeds, limit_s)


def check_weigher(
    plugin: object,
    *,
    values: Values = USUAL,
    seeds: Iterable[int] = SEEDS,
    limit_s: float = 1.0,
) -> Tried:
    """Tries a weigher as ``check_filter`` tries a filter."""

    def guarded(made: object, outside: Snapshots) -> Guarded:
        if isinstance(made, Weigher):
            return GuardedWeigher(type(made).__name__, made, outside)
        return LegacyWeigher(made, outside)

    return _Checks(plugin, guarded, values).run(seeds, limit_s)


Guarded: TypeAlias = GuardedFilter | LegacyFilter | GuardedWeigher | LegacyWeigher


class _Checks:
    """All checks of one plug-in."""

    def __init__(
        self,
        plugin: object,
        guarded: Callable[[Any, Snapshots], Guarded],
        values: Values,
    ) -> None:
        self._plugin, self._guarded, self._values = plugin, guarded, values
        self._outside = Snapshots()
        self._where = ""
        self._one = self._made()
        self._hosts = self._refused = 0

    def run(self, seeds: Iterable[int], limit_s: float) -> Tried:
        """Try it. Raises Unfit."""
        worlds = 0
        for seed in seeds:
            worlds += 1
            self._where = f"seed {seed}"
            world = World(seed, self._values)
            self._check_answers(world, random.Random(seed))  # noqa: S311
            self._check_kept(World(seed, self._values))
        self._where = f"{_MANY:,} hosts"
        self._outside.slowest_s = 0.0
        world = World(0, self._values, _MANY)
        self._ask(self._one, world.hosts(), world.request(next(world.specs())))
        slowest_s = self._outside.slowest_s
        if slowest_s > limit_s:
            self._fail(
                f"takes {slowest_s:.2f} s, and {limit_s:g} s were allowed (limit_s)"
            )
        return Tried(worlds, self._hosts, self._refused, slowest_s)

    def _made(self) -> Guarded:
        """A new one where a class was given, else the same."""
        plugin = self._plugin
        try:
            made = plugin() if isinstance(plugin, type) else plugin
        except Exception as error:
            self._fail("cannot be made without arguments", error)
        try:
            return self._guarded(made, self._outside)
        except Refused as error:
            raise Unfit(str(error)) from error

    def _fail(self, text: str, error: BaseException | None = None) -> NoReturn:
        plugin = self._plugin
        kind = plugin if isinstance(plugin, type) else type(plugin)
        where = f" ({self._where})" if self._where else ""
        why = f": {type(error).__name__}: {error}" if error else ""
        raise Unfit(f"{kind.__qualname__}{where} {text}{why}.") from error

    # -- one world ----------------------------------------------------------------

    def _check_answers(self, world: World, dice: random.Random) -> None:
        size = 4 + len(self._values.requests)
        specs = list(islice(world.specs(), size))
        asked = [world.request(spec) for spec in specs]
        given = world.facts(), _encoded(specs)
        found = self._answers(self._one, world, asked)
        if (world.facts(), _encoded(specs)) != given:
            self._fail("changes the fleet or the request: work on copies")
        if self._answers(self._one, world, asked) != found:
            self._fail(
                "answers the same question differently: let its answer depend on its "
                "arguments alone, not on earlier calls, chance or the clock"
            )
        if self._answers(self._made(), world, asked[::-1]) != found[::-1]:
            self._fail(
                "answers differently from one that was just made: let its answer "
                "depend on its arguments alone"
            )
        for request in asked:
            self._check_neutral(world, request)
            self._check_parts(world, request, dice)
            self._check_time(world, request)
        none = world.hosts().at(np.zeros(0, np.int64))
        self._ask(self._one, none, asked[0])

    def _answers(
        self, one: Guarded, world: World, asked: list[Request]
    ) -> list[tuple[Answer, Answer]]:
        """For the first instance of each request, and after one went to a host."""
        found = []
        for request in asked:
            hosts, later = world.hosts(), world.hosts()
            later.consume(0, Taken(1, 512, 1024), "another")
            found.append(
                (self._ask(one, hosts, request), self._ask(one, later, request))
            )
        return found

    def _check_neutral(self, world: World, request: Request) -> None:
        one, hosts = self._one, world.hosts()
        try:
            if not one.is_neutral(request):
                return
            if isinstance(one, Filter):
                is_neutral = bool(one.mask(hosts, request).all())
            else:
                is_neutral = bool(np.ptp(one.score(hosts, request)) == 0)
        except Invalid:
            return
        if not is_neutral:
            self._fail(
                f"says that it is neutral for {_short(request.spec)}, and is not: it "
                "tells hosts apart"
            )

    def _check_parts(self, world: World, request: Request, dice: random.Random) -> None:
        """Elementwise: also of a few hosts, in any order, or one alone."""
        one, hosts = self._one, world.hosts()
        if not one.is_elementwise:
            return
        whole = self._values_of(one, hosts, request)
        if isinstance(whole, str):
            return
        places = np.array(dice.sample(range(len(hosts)), dice.randint(1, len(hosts))))
        part = self._values_of(one, hosts.at(places), request)
        if isinstance(part, str) or not np.array_equal(part, whole[places]):
            self._fail(
                "declares elementwise=True, and says something else of "
                f"{len(places)} hosts alone than among {len(hosts)}"
            )

    def _check_time(self, world: World, request: Request) -> None:
        one, hosts = self._one, world.hosts()
        if not isinstance(one, Filter):
            return
        try:
            first, last = one.lasts(hosts, request)
        except Invalid:
            return
        except PluginFailed as failed:
            self._fail("fails", failed)
        now = self._ask(one, hosts, request)
        for at in {first, last, (first + last) // 2} if last - first < 2**62 else ():
            if self._ask(one, hosts, msgspec.structs.replace(request, now=at)) != now:
                self._fail(
                    f"says that its mask lasts from {first} to {last}, and says "
                    f"something else at {at}"
                )

    def _ask(self, one: Guarded, hosts: Hosts, request: Request) -> Answer:
        found = self._values_of(one, hosts, request)
        return found if isinstance(found, str) else found.tobytes()

    def _values_of(self, one: Guarded, hosts: Hosts, request: Request) -> Any:
        """The mask; the scores and their multiplier; or the text of Invalid."""
        self._hosts += len(hosts)
        try:
            if not isinstance(one, Filter):
                scores = one.score(hosts, request)
                factor = one.multiplier(hosts, request.options)
                return scores * (1.0 if factor is None else factor)
            mask = one.mask(hosts, request)
            if mask.any() and one.has_limits:
                one.limits(hosts, request, int(mask.argmax()))
        except Invalid as error:
            self._refused += len(hosts)
            return f"Invalid: {error}"
        except PluginFailed as failed:
            raise Unfit(f"{failed.message} ({self._where})") from failed
        if isinstance(one, LegacyFilter) and one.failures:
            self._fail(f"fails for some hosts, which it refuses: {one.failures[-1]}")
        self._refused += int(np.count_nonzero(~mask))
        return mask

    # -- while the fleet changes --------------------------------------------------

    def _check_kept(self, world: World) -> None:
        """The driver caching, which keeps what is declared, decides like ``filter``."""
        if self._one.cacheable is None:
            return
        filters, weighers = self._made(), self._made()
        policies = [
            Policy(self._values.options, (one,), ())
            if isinstance(one, Filter)
            else Policy(self._values.options, (), (one,))
            for one in (filters, weighers)
        ]
        fresh, kept = filtering(policies[0]), caching(policies[1])
        specs = list(islice(world.specs(), 2 + len(self._values.requests)))
        for _ in range(_CHANGES):
            for spec in specs:
                if decision(fresh, world, spec) != decision(kept, world, spec):
                    self._fail(
                        "declares Cacheable, and what is kept of it differs from what "
                        f"it says afresh for {_short(spec)}: name all it depends on"
                    )
            world.change()


def decision(driver: Driver, world: World, spec: RequestSpec) -> object:
    """The hosts that pass, with their weights, or the refusal. Raises Unfit."""
    try:
        found = driver.feasible_hosts(
            world.state, spec, REPORT_SOURCE, now=world.now, budget=Budget()
        )
    except PluginFailed as failed:
        raise Unfit(failed.message) from failed
    except (Invalid, NoValidHost) as error:
        return str(error)
    return found.hosts.rows.tolist(), found.weights.tolist()


def _encoded(specs: list[RequestSpec]) -> bytes:
    return msgspec.msgpack.encode(specs)


def _short(spec: RequestSpec) -> str:
    """What differs from a request for nothing."""
    usual = RequestSpec()
    said = (
        f"{name}={getattr(spec, name)!r}"
        for name in spec.__struct_fields__
        if getattr(spec, name) != getattr(usual, name)
    )
    return f"RequestSpec({', '.join(said)})"
