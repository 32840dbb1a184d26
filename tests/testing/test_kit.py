"""The conformance kit finds what a plug-in does wrong, and passes what is right."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.scheduler.contract import Cacheable, Chooser, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats, Int64s
from gantt.testing import (
    Unfit,
    Values,
    World,
    check_driver,
    check_filter,
    check_weigher,
    checks,
)
from tests.programs import printed

_RAM = Cacheable(needs=("free_ram_mb",), reads=("flavor.memory_mb",), elementwise=True)
_ticks = count()


def _all(hosts: Hosts) -> Bools:
    return np.ones(len(hosts), np.bool_)


def _filter(
    mask: Callable[[Any, Hosts, Request], Any], **attributes: Any
) -> type[Filter]:
    return type("Planted", (Filter,), {"mask": mask, **attributes})


def _weigher(
    score: Callable[[Any, Hosts, Request], Any], **attributes: Any
) -> type[Weigher]:
    return type("Planted", (Weigher,), {"score": score, **attributes})


class RackFilter(Filter):
    """What the caller's hint names, as hosts report it."""

    cacheable = Cacheable(
        needs=("factor:stats.rack",), reads=("scheduler_hints.rack",), elementwise=True
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        wanted = request.spec.hint("rack")
        codes, racks = hosts.reported("stats", "rack")
        return hosts.judge(codes, racks, lambda rack: wanted in (None, rack))


class NovaRackFilter:
    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        wanted = spec_obj.get_scheduler_hint("rack")
        return wanted in (None, host_state.stats.get("rack"))


class NovaRamWeigher:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> float:
        return float(host_state.free_ram_mb)


class RamWeigher(Weigher):
    cacheable = Cacheable(needs=("free_ram_mb",), reads=(), elementwise=True)

    def score(self, hosts: Hosts, request: Request) -> Floats:
        return hosts.free_ram_mb.astype(np.float64)


RACKS = Values(reports={"stats.rack": ("r1", "r2", None)}, hints={"rack": ("r1", "r3")})
SEEDS = range(12)


@pytest.mark.parametrize("plugin", [RackFilter, RackFilter(), NovaRackFilter])
def test_a_filter_that_is_right_passes(plugin: object) -> None:
    tried = check_filter(plugin, values=RACKS, seeds=SEEDS, limit_s=30.0)
    assert tried.worlds == len(SEEDS)
    assert 0 < tried.refused < tried.hosts
    assert tried.slowest_s > 0


@pytest.mark.parametrize("plugin", [RamWeigher, NovaRamWeigher()])
def test_a_weigher_that_is_right_passes(plugin: object) -> None:
    assert check_weigher(plugin, seeds=SEEDS, limit_s=30.0).refused == 0


# -- planted mistakes ------------------------------------------------------------------


def _takes_from_stats(_self: Any, hosts: Hosts, request: Request) -> Bools:
    for row in hosts.rows.tolist():
        hosts.fleet.hosts.stats[row].pop("vcpus", None)
    return _all(hosts)


def _takes_from_hints(_self: Any, hosts: Hosts, request: Request) -> Bools:
    request.spec.scheduler_hints.pop("rack", None)
    return _all(hosts)


def _remembers(self: Any, hosts: Hosts, request: Request) -> Bools:
    known = self.__dict__.setdefault("known", request.spec.project_id)
    return np.full(len(hosts), known == request.spec.project_id)


def _counts(self: Any, hosts: Hosts, request: Request) -> Bools:
    return np.full(len(hosts), next(_ticks) % 3 == 0)


def _fullest(_self: Any, hosts: Hosts, request: Request) -> Bools:
    most: Bools = hosts.free_ram_mb >= np.median(hosts.free_ram_mb)
    return most


def _by_uuid(_self: Any, hosts: Hosts, request: Request) -> Bools:
    """Reads the number of hosts, which is not said to matter."""
    return np.full(len(hosts), hosts.fleet.hosts.hosts != ["h0"])


def _dawdles(_self: Any, hosts: Hosts, request: Request) -> Bools:
    if len(hosts) >= 1_000:
        time.sleep(0.05)
    return _all(hosts)


def _even_seconds(_self: Any, hosts: Hosts, request: Request) -> Bools:
    return np.full(len(hosts), request.now // 1_000_000 % 2 == 0)


PLANTED_FILTERS = {
    "dtype": (
        _filter(lambda _s, h, r: np.ones(len(h))),
        r"gave float64\[\d+\] as its mask",
    ),
    "shape": (_filter(lambda _s, h, r: np.ones(3, np.bool_)), r"gave bool\[3\]"),
    "no hosts": (
        _filter(lambda _s, h, r: np.arange(len(h)) < h.rows[0] + 99),
        "failed in .*: IndexError",
    ),
    "raises": (
        _filter(lambda _s, h, r: h.column("fre_ram_mb")),
        "KeyError: .*fre_ram_mb",
    ),
    "changes a report": (_filter(_takes_from_stats), "changes the fleet"),
    "changes the request": (_filter(_takes_from_hints), "changes .* the request"),
    "changes a column": (
        _filter(lambda _s, h, r: h.free_ram_mb.sort()),
        "ValueError: .*read-only",
    ),
    "remembers": (_filter(_remembers), "from one that was just made"),
    "chance": (_filter(_counts), "the same question differently"),
    "compares hosts": (_filter(_fullest, cacheable=_RAM), "elementwise=True"),
    "reads too much": (
        _filter(
            lambda _s, h, r: h.vcpus_used >= r.spec.flavor.memory_mb, cacheable=_RAM
        ),
        "add 'vcpus_used' to the needs",
    ),
    "asks too much": (
        _filter(lambda _s, h, r: h.free_ram_mb >= r.spec.flavor.vcpus, cacheable=_RAM),
        "add 'flavor.vcpus' to the reads",
    ),
    "not neutral": (
        _filter(
            lambda _s, h, r: h.free_ram_mb > 0,
            is_neutral=lambda _s, r: r.spec.project_id == "p1",
        ),
        "says that it is neutral for RequestSpec",
    ),
    "lasts": (
        _filter(_even_seconds, lasts=lambda _s, h, r: (r.now - 1, r.now + 1_500_000)),
        "says that its mask lasts from",
    ),
    "limits": (
        _filter(lambda _s, h, r: _all(h), limits=lambda _s, h, r, place: {"ram": 3}),
        "gave {'ram': 3} as limits",
    ),
    "no mask": (type("Planted", (Filter,), {}), "has no method mask"),
    "unknown need": (
        _filter(
            lambda _s, h, r: _all(h), cacheable=Cacheable(needs=("ram",), reads=())
        ),
        "needs 'ram'; there is",
    ),
    "needs arguments": (
        _filter(lambda _s, h, r: _all(h), __init__=lambda self, rack: None),
        "cannot be made without arguments",
    ),
    "slow": (_filter(_dawdles), "1,000 hosts.* takes 0.* and 0.01 s were allowed"),
}


@pytest.mark.parametrize("mistake", PLANTED_FILTERS)
def test_a_mistake_in_a_filter_is_found(mistake: str) -> None:
    plugin, says = PLANTED_FILTERS[mistake]
    limit_s = 0.01 if mistake == "slow" else 30.0
    with pytest.raises(Unfit, match=says) as found:
        check_filter(plugin, values=RACKS, seeds=range(40), limit_s=limit_s)
    assert "Planted" in str(found.value)


def test_what_is_kept_wrongly_is_found() -> None:
    """It reads a column that it does not declare, and not through what it is given."""
    worlds: list[World] = []

    class Sly(Filter):
        cacheable = Cacheable(needs=(), reads=(), elementwise=True)

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            live = worlds[-1].state.fleet.hosts
            mask: Bools = live.num_instances[hosts.rows] % 2 == 0
            return mask

    class Noted(World):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            worlds.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "World", Noted)
        with pytest.raises(Unfit, match="what is kept of it differs from what it says"):
            check_filter(Sly, seeds=range(40), limit_s=30.0)


PLANTED_WEIGHERS: dict[str, tuple[object, str]] = {
    "dtype": (_weigher(lambda _s, h, r: _all(h)), r"gave bool\[\d+\] as its scores"),
    "nan": (
        _weigher(lambda _s, h, r: np.where(h.free_ram_mb < 0, np.nan, 1.0)),
        "gave nan in its scores, for host h",
    ),
    "share": (
        _weigher(
            lambda _s, h, r: h.free_ram_mb / max(1, np.abs(h.free_ram_mb).sum()),
            cacheable=Cacheable(needs=("free_ram_mb",), reads=(), elementwise=True),
        ),
        "elementwise=True",
    ),
    "not neutral": (
        _weigher(
            lambda _s, h, r: h.free_ram_mb.astype(float), is_neutral=lambda _s, r: True
        ),
        "says that it is neutral",
    ),
    "multiplier": (
        _weigher(
            lambda _s, h, r: np.zeros(len(h)),
            multiplier=lambda _s, h, options: float("inf"),
        ),
        "gave inf as its multiplier",
    ),
    "chance": (
        _weigher(lambda _s, h, r: np.full(len(h), float(next(_ticks)))),
        "the same question differently",
    ),
}


@pytest.mark.parametrize("mistake", PLANTED_WEIGHERS)
def test_a_mistake_in_a_weigher_is_found(mistake: str) -> None:
    plugin, says = PLANTED_WEIGHERS[mistake]
    with pytest.raises(Unfit, match=says):
        check_weigher(plugin, seeds=range(40), limit_s=30.0)


class _NovaKeyError:
    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return bool(host_state.stats["rack"])


class _NovaCounter:
    asked = 0

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        self.asked += 1
        return self.asked % 2 == 0


class _NovaNeither:
    """Neither a filter nor a weigher."""


class _NovaNone:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> Any:
        return None


def test_mistakes_in_plugins_for_nova_are_found() -> None:
    for plugin, says in (
        (_NovaKeyError, "KeyError: 'rack'"),
        (_NovaCounter, "differently"),
        (_NovaNeither, "is no filter"),
    ):
        with pytest.raises(Unfit, match=says):
            check_filter(plugin, values=RACKS, limit_s=30.0)
    for weigher, says in ((_NovaNone, "gave None for host"), (_NovaNeither, "is no")):
        with pytest.raises(Unfit, match=says):
            check_weigher(weigher, limit_s=30.0)


def test_a_filter_for_nova_that_fails_for_some_hosts_is_found() -> None:
    class Some:
        def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
            return bool(host_state.host != "h1" or host_state.stats["none"])

    with pytest.raises(Unfit, match=r"for some hosts, .* h1 \(h1\): KeyError: 'none'"):
        check_filter(Some, limit_s=30.0)


# -- drivers ---------------------------------------------------------------------------


def _driver(choose: Callable[..., Any], **attributes: Any) -> type[Chooser]:
    return type("Planted", (Chooser,), {"choose": choose, **attributes})


class SpreadDriver(Chooser):
    """One instance per host, the best first; those with little memory are left out."""

    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> list[Int64s]:
        order = np.argsort(-weights, kind="stable")
        order = order[hosts.free_ram_mb[order] >= 4096]
        return [np.roll(order, -number) for number in range(count)]


class DrawingDriver(Chooser):
    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> list[Int64s]:
        dice = np.random.default_rng(seed)
        return [dice.permutation(len(hosts)) for _ in range(count)]


@pytest.mark.parametrize("driver", [SpreadDriver, SpreadDriver()])
def test_a_driver_that_is_right_passes(driver: Any) -> None:
    tried = check_driver(driver, seeds=SEEDS, limit_s=30.0)
    assert tried.worlds == len(SEEDS)
    assert 0 < tried.refused < tried.hosts
    assert tried.slowest_s > 0


def test_a_driver_may_draw_random_numbers() -> None:
    assert check_driver(DrawingDriver, seeds=SEEDS, limit_s=30.0).refused == 0


def _everywhere(_self: Any, hosts: Hosts, *_: object, count: int, seed: int) -> Any:
    return [np.arange(len(hosts))] * count


def _shuffles(_self: Any, hosts: Hosts, *_: object, count: int, seed: int) -> Any:
    return [np.roll(np.arange(len(hosts)), next(_ticks))] * count


def _grows(self: Any, hosts: Hosts, *_: object, count: int, seed: int) -> Any:
    self.__dict__.setdefault("first", len(hosts))
    return [np.arange(min(self.first, len(hosts)))] * count


def _scales(_self: Any, hosts: Hosts, weights: Any, *_: object, **how: int) -> Any:
    with np.errstate(invalid="raise"):
        weights = weights - weights.min()
    return [np.argsort(-weights)] * how["count"]


def _late(_self: Any, hosts: Hosts, *_: object, count: int, seed: int) -> Any:
    if len(hosts) > 100:
        time.sleep(0.05)
    return [np.arange(len(hosts))] * count


def _empties(_self: Any, hosts: Hosts, _w: Any, request: Request, **how: int) -> Any:
    request.spec.scheduler_hints["tried"] = ("yes",)
    return [np.arange(len(hosts))] * how["count"]


PLANTED_DRIVERS = {
    "dtype": (
        _driver(lambda _s, h, w, r, *, count, seed: [w] * count),
        r"gave float64\[\d+\] for an instance",
    ),
    "one order for all": (
        _driver(lambda _s, h, w, r, *, count, seed: [np.arange(len(h))]),
        "gave a list of 1: a list of 3 was asked for",
    ),
    "rows": (
        _driver(lambda _s, h, w, r, *, count, seed: [h.rows + 1] * count),
        "gave place .*: places are 0 to",
    ),
    "raises": (_driver(lambda _s: None), "failed in .*: TypeError"),
    "changes the request": (_driver(_empties), "changes the fleet or the request"),
    "chance": (_driver(_shuffles), "the same question differently"),
    "remembers": (_driver(_grows), "from one that was just made"),
    "held hosts": (_driver(_scales), "FloatingPointError"),
    "slow": (_driver(_late), "1,000 hosts.* takes 0.* and 0.01 s were allowed"),
    "no method": (type("Planted", (Chooser,), {}), "has no method choose"),
    "needs arguments": (
        _driver(_everywhere, __init__=lambda self, policy: None),
        "cannot be made without arguments",
    ),
    "former": (
        _driver(_everywhere, feasible_hosts=None),
        "decides by feasible_hosts, which is no longer asked",
    ),
    "no chooser": (type("Planted", (), {}), "must be a gantt.scheduler.contract"),
}


@pytest.mark.parametrize("mistake", PLANTED_DRIVERS)
def test_a_mistake_in_a_driver_is_found(mistake: str) -> None:
    plugin, says = PLANTED_DRIVERS[mistake]
    limit_s = 0.01 if mistake == "slow" else 30.0
    with pytest.raises(Unfit, match=says) as found:
        check_driver(plugin, seeds=range(40), limit_s=limit_s)
    assert "Planted" in str(found.value)


# -- worlds ----------------------------------------------------------------------------


def test_a_world_follows_from_its_seed() -> None:
    one, same, other = (World(seed, RACKS) for seed in (1, 1, 2))
    assert one.facts() == same.facts() != other.facts()
    specs = [next(world.specs()) for world in (one, same, other)]
    assert specs[0] == specs[1]
    before = one.facts()
    for world in (one, same):
        for _ in range(20):
            world.change()
    assert one.facts() == same.facts() != before
    assert one.now == same.now > World(1, RACKS).now


def test_requests_of_the_author_are_asked_first() -> None:
    spec = replace(next(World(1).specs()), project_id="mine")
    assert next(World(2, Values(requests=(spec,))).specs()) == spec


def test_nothing_of_the_library_loads_the_kit() -> None:
    code = "import gantt, gantt.wsgi, sys; print('gantt.testing' in sys.modules)"
    ran = printed([sys.executable, "-c", code])
    assert ran == "False\n"
