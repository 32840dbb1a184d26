"""The stages that a decision tells: each while its work is done, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import GanttError, NoValidHost
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import Making, caching, filtering
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.policy import Policy, policy_of
from tests.scheduler.desk import Desk, decided

# Filters of all kinds: cached, asked for each request, and host by host.
OPTIONS = SchedulerOptions(
    enabled_filters=(
        *DEFAULT_FILTERS,
        "NumInstancesFilter",
        "DifferentHostFilter",
        "JsonFilter",
    )
)
SMALL, HUGE = Flavor(vcpus=1, memory_mb=64), Flavor(vcpus=999, memory_mb=64)


class Told:
    """A Mark, and the work of each stage as it is done: "mask" or "score"."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.work: list[tuple[str, str]] = []

    def __call__(self, stage: str) -> None:
        if self.stages[-1:] != [stage]:
            self.stages.append(stage)

    def note(self, work: str) -> None:
        self.work.append((self.stages[-1] if self.stages else "", work))

    @property
    def named(self) -> list[str]:
        return [stage for stage in self.stages if stage]

    def clear(self) -> None:
        self.stages.clear()
        self.work.clear()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Told of all filters and weighers of ``OPTIONS``."""
    found = Told()
    policy = policy_of(OPTIONS)
    for one, name in (
        *((type(one), "mask") for one in policy.filters),
        *((type(one), "score") for one in policy.weighers),
    ):
        monkeypatch.setattr(one, name, noted(getattr(one, name), name, found))
    return found


def noted(real: Any, name: str, told: Told) -> Any:
    def call(self: Any, *args: Any) -> Any:
        told.note(name)
        return real(self, *args)

    return call


def policy() -> Policy:
    """Nothing of it is asked for each request."""
    return policy_of(SchedulerOptions())


def decide(
    desk: Desk,
    driver: Driver,
    told: Told,
    flavor: Flavor = SMALL,
    count: int = 1,
    **hints: tuple[str, ...],
) -> list[str]:
    """The stages of one decision."""
    told.clear()
    uuids = tuple(desk.new_uuid() for _ in range(count))
    request = ScheduleRequest(RequestSpec(flavor, scheduler_hints=hints), uuids)
    decided(desk, driver, request, mark=told)
    return told.named


@pytest.mark.parametrize("kind", [filtering, caching])
def test_filters_and_weighers_run_within_their_stage(kind: Making, told: Told) -> None:
    desk = Desk(3)
    desk.add_hosts(30)
    driver = kind(policy_of(OPTIONS))
    seen = set()
    for _ in range(60):
        desk.stir()
        request = desk.request()
        told.clear()
        try:
            decided(desk, driver, request, mark=told)
        except NoValidHost:
            assert told.named[-1] == "explain"
        except GanttError:  # no request that could be decided
            assert told.work == []
        seen.update(told.work)
    # What is searched for after a refusal asks filters too.
    assert {("filter", "mask"), ("score", "score")} <= seen
    assert {stage for stage, work in seen if work == "mask"} <= {"filter", "explain"}
    assert {stage for stage, work in seen if work == "score"} <= {"score", "explain"}


def test_a_cached_decision_tells_only_what_it_does(told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(30)
    driver = caching(policy())
    assert decide(desk, driver, told) == ["filter", "score", "pick"]
    assert decide(desk, driver, told) == ["pick"]
    assert told.work == []
    desk.report("h3", whole=True)
    assert decide(desk, driver, told) == ["filter", "score", "pick"]
    assert (driver.misses, driver.hits) == (1, 2)


def test_a_filter_that_is_not_cached_is_told_each_time(told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(30)
    driver = caching(policy_of(OPTIONS))
    every, some = (f'[">=", "$free_ram_mb", {least}]' for least in (1, 10_000))
    assert decide(desk, driver, told, query=(every,)) == [
        "filter",
        "score",
        "filter",
        "pick",
    ]
    assert decide(desk, driver, told, query=(every,)) == ["filter", "pick"]
    # What it removes changes the scores of the others.
    assert decide(desk, driver, told, query=(some,)) == ["filter", "score", "pick"]


def test_without_a_cache_all_is_done_each_time(told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(30)
    driver = filtering(policy())
    for _ in range(2):
        assert decide(desk, driver, told) == ["filter", "score", "pick"]


@pytest.mark.parametrize("kind", [filtering, caching])
def test_a_single_host_is_not_scored(kind: Making, told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(1)
    assert decide(desk, kind(policy()), told) == ["filter", "pick"]


def test_a_refusal_is_explained_and_nothing_is_picked(told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(30)
    driver = caching(policy())
    with pytest.raises(NoValidHost):
        decide(desk, driver, told, HUGE)
    assert told.named == ["filter", "explain"]
    with pytest.raises(NoValidHost):
        decide(desk, driver, told, HUGE)
    assert told.named == ["explain"]


def test_too_few_hosts_are_explained_after_picks(told: Told) -> None:
    desk = Desk(1)
    desk.add_hosts(4)
    with pytest.raises(NoValidHost):
        decide(desk, filtering(policy()), told, Flavor(vcpus=4, memory_mb=64), 200)
    assert told.named == ["filter", "score", "pick", "explain"]
