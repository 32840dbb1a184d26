"""Filters and weighers of other packages that fail: named, and nothing is decided."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import numpy as np
import pytest

from gantt.errors import Invalid, PluginFailed
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.scheduler import cycle
from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import Making, caching, filtering
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.plugins.nova import LegacyFilter
from gantt.state.column import Bools, Floats
from tests.scheduler.desk import Desk, source
from tests.scheduler.fleets import Plan, a_host, all_hosts, request
from tests.scheduler.plugged import HOSTS, SPEC, policy
from tests.scheduler.plugged import desk as _desk

MINE = f"{__name__}."
_policy = partial(policy, __name__)


def _field(driver: Driver, desk: Desk, spec: RequestSpec) -> FeasibleHosts:
    return driver.feasible_hosts(
        desk.state, spec, source(False), now=desk.now, budget=Budget()
    )


class _Scored(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        return np.zeros(len(hosts))


class BrokenFilter(Filter):
    answer: Any = None

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        found = self.answer
        if callable(found):
            found = found(hosts)
        return found  # type: ignore[no-any-return]


class BrokenWeigher(Weigher):
    answer: Any = None

    def score(self, hosts: Hosts, request: Request) -> Floats:
        found = self.answer
        return found(hosts) if callable(found) else found  # type: ignore[no-any-return]


class BrokenNovaFilter:
    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        raise LookupError("no such rack")


def _plain(answer: Any) -> Any:
    """As an attribute of a class, no method of it."""
    return staticmethod(answer) if callable(answer) else answer


def _misspelt(hosts: Any) -> Any:
    return hosts.fre_ram_mb


def _exits(hosts: Hosts) -> Any:
    raise SystemExit("gone")


class _OwnBase(BaseException):
    pass


class _Speechless(Exception):
    def __str__(self) -> str:
        raise SystemExit("no words")


def _raises_base(hosts: Hosts) -> Any:
    raise _OwnBase("mine")


def _ends_generator(hosts: Hosts) -> Any:
    raise GeneratorExit


def _fails_without_words(hosts: Hosts) -> Any:
    raise _Speechless


@pytest.mark.parametrize("driver", [filtering, caching])
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, r"gave None as its mask: bool\[20\] was asked for"),
        (True, "gave a bool as its mask"),
        (np.True_, "gave a bool"),
        (np.ones(3, np.bool_), r"gave bool\[3\] as its mask"),
        (np.ones((HOSTS, 1), np.bool_), r"gave bool\[20, 1\]"),
        (np.ones(HOSTS), r"gave float64\[20\]"),
        ([True] * HOSTS, "gave a list"),
        (_misspelt, "failed in mask: AttributeError: .*fre_ram_mb"),
        (_exits, "failed in mask: SystemExit: gone"),
        (_raises_base, "failed in mask: _OwnBase: mine"),
        (_ends_generator, "failed in mask: GeneratorExit"),
        (_fails_without_words, "failed in mask: _Speechless"),
    ],
)
def test_failing_filter_is_named(
    driver: Making,
    answer: Any,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        BrokenFilter, "answer", staticmethod(answer) if callable(answer) else answer
    )
    desk, broken = _desk(), driver(_policy("BrokenFilter"))
    with pytest.raises(PluginFailed, match=says) as caught:
        cycle.decide(
            desk.state,
            ScheduleRequest(SPEC, ("a",)),
            source(False),
            broken,
            now=desk.now,
        )
    assert caught.value.message.startswith(f"The filter {MINE}BrokenFilter ")
    assert "Nothing was decided" in caught.value.message


@pytest.mark.parametrize("driver", [filtering, caching])
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, r"gave None as its scores: float64\[20\] was asked for"),
        (1.0, "gave a float"),
        (np.zeros(3), r"gave float64\[3\]"),
        (np.ones(HOSTS, np.bool_), r"gave bool\[20\]"),
        (np.array(["1"] * HOSTS), r"gave <U1\[20\]"),
        (np.full(HOSTS, np.nan), r"gave nan in its scores, for host h0 \(h0\)"),
        (np.full(HOSTS, -np.inf), "gave -inf in its scores"),
        (
            np.where(np.arange(HOSTS) % 2, 1.7e308, -1.7e308),
            r"gave -1.7e\+308 to 1.7e\+308 as its scores",
        ),
        (_misspelt, "failed in score: AttributeError: .*fre_ram_mb"),
    ],
)
def test_failing_weigher_is_named(
    driver: Making,
    answer: Any,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        BrokenWeigher, "answer", staticmethod(answer) if callable(answer) else answer
    )
    desk, broken = _desk(), driver(_policy(weighers=("BrokenWeigher",)))
    with pytest.raises(PluginFailed, match=says) as caught:
        _field(broken, desk, SPEC)
    assert caught.value.message.startswith(f"The weigher {MINE}BrokenWeigher ")


def test_integer_scores_are_accepted() -> None:
    class Whole(Weigher):
        def score(self, hosts: Hosts, request: Request) -> Floats:
            return hosts.free_ram_mb  # type: ignore[return-value]

    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    found = GuardedWeigher("w", Whole()).score(hosts, request())
    assert found.dtype == np.float64


def test_other_plugin_results_are_checked() -> None:
    class Odd(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            return np.ones(len(hosts), np.bool_)

        def is_neutral(self, request: Request) -> bool:
            raise KeyError("x")

        def lasts(self, hosts: Hosts, request: Request) -> tuple[int, int]:
            return (request.now + 1, request.now + 2)

        def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:
            return {"ram": 3}

    class OddMultiplier(_Scored):
        def multiplier(self, hosts: Hosts, options: SchedulerOptions) -> float:
            return float("nan")

    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    odd = GuardedFilter("Odd", Odd())
    assert odd.has_limits
    with pytest.raises(PluginFailed, match="Odd failed in is_neutral: KeyError"):
        odd.is_neutral(request())
    with pytest.raises(PluginFailed, match="says that its mask lasts"):
        odd.lasts(hosts, request())
    with pytest.raises(PluginFailed, match="gave {'ram': 3} as limits"):
        odd.limits(hosts, request(), 0)
    with pytest.raises(PluginFailed, match="gave nan as its multiplier"):
        GuardedWeigher("w", OddMultiplier()).multiplier(hosts, SchedulerOptions())


def test_plugin_may_refuse_a_request() -> None:
    class Strict(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            raise Invalid("the hint rack is missing")

    hosts = all_hosts(Plan([a_host("h1")]).state())
    with pytest.raises(Invalid, match="the hint rack is missing"):
        GuardedFilter("s", Strict()).mask(hosts, request())


def test_traceback_is_logged_once_per_location(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            if len(hosts) == 1:
                raise ZeroDivisionError("no racks")
            raise ZeroDivisionError("many\n\x1b[2Jlines " + "x" * 5_000)

    broken = GuardedFilter("Failing", Failing())
    one = all_hosts(Plan([a_host("h1")]).state())
    two = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    with caplog.at_level(logging.ERROR):
        for hosts in (one, two, one, two):
            with pytest.raises(PluginFailed) as caught:
                broken.mask(hosts, request())
    assert len(caplog.records) == 2
    assert len(caught.value.message) < 1_000
    assert "\n" not in caught.value.message


def test_callers_see_only_the_plugin_name() -> None:
    class Failing(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            raise FileNotFoundError("/etc/secret/db-password")

    hosts = all_hosts(Plan([a_host("h1")]).state())
    for broken, kind in (
        (GuardedFilter("Failing", Failing()), "filter Failing"),
        (LegacyFilter(BrokenNovaFilter()), "filter BrokenNovaFilter"),
    ):
        with pytest.raises(PluginFailed) as caught:
            broken.mask(hosts, request())
        assert caught.value.public == (
            f"The {kind} failed, so nothing was decided. The log of the service has "
            "the reason under the request id."
        )
        assert "enabled_filters" in caught.value.message
    assert PluginFailed("secret").public.startswith("A plug-in failed")


@pytest.mark.parametrize("kind", ["ours", "Nova's"])
def test_failure_is_logged_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            raise ZeroDivisionError("no racks")

    broken = (
        GuardedFilter("Failing", Failing())
        if kind == "ours"
        else LegacyFilter(BrokenNovaFilter())
    )
    hosts = all_hosts(Plan([a_host("h1")]).state())
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            with pytest.raises(PluginFailed):
                broken.mask(hosts, request())
    (record,) = caplog.records
    assert record.exc_info is not None
    assert broken.name in record.getMessage()
