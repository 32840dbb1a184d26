"""What is advised after a refusal is true, the smallest there is, and not left out.

GANTT_ADVICE_EXAMPLES makes a run longer, GANTT_ADVICE_SEED another one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gantt.cli.refusal import why_text
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling import decider
from gantt.errors import GanttError, Invalid, NoValidHost
from gantt.model.diagnosis import Relaxation
from gantt.model.hosts import Service
from gantt.model.selection import Why
from gantt.model.spec import (
    Destination,
    Flavor,
    InstanceGroup,
    RequestSpec,
    ScheduleRequest,
)
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.plugin_calls import Outside
from gantt.scheduler.plugins.policy import Policy, policy_of
from gantt.scheduler.selection.picks import InstancePicks, pick_hosts
from tests.idle_host import idle
from tests.scheduler.refusals import Scene, Way, ways

EXAMPLES = int(os.environ.get("GANTT_ADVICE_EXAMPLES", "40"))
SEED = int(os.environ.get("GANTT_ADVICE_SEED", "0"))


def judged(scene: Scene) -> str | None:
    """What became of the advice about one request; None: it was not refused."""
    try:
        why = scene.why()
    except GanttError:
        return None
    if why is None:
        return None
    known = {way.text: way for way in ways(scene)}
    named = [known[text] for text in why.change.split(", and ")] if why.change else []
    if named and not scene.hold(named):
        return f"untrue: {why.change}"
    best = _smallest(scene, [*known.values()])
    if best is None:
        return "nothing helps" if not named else "two things help"
    if not named:
        return f"left out: {best.text}"
    if len(named) > 1:
        return f"two for one: {why.change} for {best.text}"
    (one,) = named
    if (one.rank, one.share) != (best.rank, best.share):
        return f"not the smallest: {one.text} for {best.text}"
    return "the smallest"


def _smallest(scene: Scene, them: list[Way]) -> Way | None:
    order = sorted(them, key=lambda way: (way.rank, way.share))
    return next(filter(scene.holds, order), None)


@pytest.fixture(autouse=True)
def _policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look up filters by name takes longer than to decide: once for all options."""
    made: dict[bytes, Policy] = {}

    def known(options: SchedulerOptions, _outside: Outside) -> Policy:
        key = msgspec.msgpack.encode(options)
        if key not in made:
            made[key] = policy_of(options)
        return made[key]

    monkeypatch.setattr(decider, "policy_of", known)


def test_advice_is_correct_minimal_and_complete() -> None:
    """A named change holds when it is made, nothing smaller does, and where any single
    change helps, one is named."""
    found: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in count(SEED):
        scene = Scene(seed, is_nested=seed % 2 == 1, by_books=seed % 4 != 2)
        try:
            said = judged(scene)
        finally:
            scene.close()
        if said is None:
            continue
        found[said.partition(":")[0]] += 1
        if ":" in said:
            wrong.append(f"seed {seed}: {said}")
        if found.total() == EXAMPLES:
            break
    print(dict(found), *wrong, sep="\n")
    assert not found["untrue"] and not found["not the smallest"], wrong
    assert len(wrong) <= EXAMPLES // 100, wrong
    assert found["the smallest"] > EXAMPLES // 3


# -- drawn cases ----------------------------------------------------------------------


@contextmanager
def fleet(hosts: dict[str, int], **options: object) -> Iterator[Gantt]:
    """Hosts with so many VCPUs."""
    policy = SchedulerOptions(**options)  # type: ignore[arg-type]
    with open_gantt("memory://", EngineOptions(scheduler=policy)) as engine:
        for host, vcpus in hosts.items():
            stats = idle(
                vcpus, 4096, cpu_allocation_ratio=1.0, hypervisor_hostname=host
            )
            engine.update_host(host, host, stats)
        yield engine


def refused(engine: Gantt, vcpus: int, count: int = 1, **fields: object) -> Why:
    flavor = Flavor(vcpus=vcpus, memory_mb=64, root_gb=1)
    spec = RequestSpec(flavor=flavor, num_instances=count, **fields)  # type: ignore[arg-type]
    found = engine.decide(ScheduleRequest(spec)).why
    assert found is not None
    return found


SOURCES = pytest.mark.parametrize("source", ["always", "never"])


@SOURCES
def test_lowered_amount_fits_all_instances(source: str) -> None:
    with fleet({"a": 16, "b": 9}, use_placement=source) as engine:
        assert refused(engine, 20).change == "ask for 16 instead of 20 VCPU"
        assert refused(engine, 20, 2).change == "ask for 9 instead of 20 VCPU"
        assert refused(engine, 20, 3).change == "ask for 8 instead of 20 VCPU"
        assert refused(engine, 1, 26).change == "ask for 25 instead of 26 instances"
        group = InstanceGroup(str(UUID(int=9)), "affinity")
        together = refused(engine, 10, 2, instance_group=group)
        assert together.change == "ask for 8 instead of 10 VCPU"
        group = InstanceGroup(str(UUID(int=9)), "anti-affinity")
        apart = refused(engine, 1, 3, instance_group=group)
        assert apart.change == "ask for 2 instead of 3 instances"


@SOURCES
def test_smaller_amount_is_preferred_over_a_filter(source: str) -> None:
    with fleet({"a": 4, "b": 8}, use_placement=source) as engine:
        engine.update_service(Service("b", disabled=True))
        why = refused(engine, 8)
        assert why.change == "ask for 4 instead of 8 VCPU"
        only = refused(engine, 1, ignore_hosts=("a",))
        assert only.change == "ignore no hosts"


@SOURCES
def test_requested_host_refused_twice_is_one_concession(source: str) -> None:
    """The filter and the books both look for the host that was asked for."""
    filters = (*DEFAULT_FILTERS, "SameHostFilter")
    with fleet({"a": 4}, use_placement=source, enabled_filters=filters) as engine:
        place = Destination(host="gone")
        nowhere = refused(engine, 1, requested_destination=place)
        assert nowhere.change == "leave out the requested host gone"
        engine.update_service(Service("a", disabled=True))
        disabled = refused(engine, 1, requested_destination=Destination(host="a"))
        assert disabled.change == "take ComputeFilter out of enabled_filters"
        (one,) = disabled.given_up
        assert (one.kind, one.names) == ("filter", ("ComputeFilter",))
        engine.update_service(Service("a", disabled=False))
        hint = {"same_host": (str(UUID(int=9)),)}
        assert refused(engine, 1, scheduler_hints=hint).change == (
            "leave out the hint same_host"
        )


def test_exhausted_budget_is_reported_and_counted() -> None:
    with fleet({"a": 4}, change_budget=20) as engine:
        flavor = Flavor(vcpus=5, memory_mb=64, root_gb=1)
        request = ScheduleRequest(RequestSpec(flavor=flavor), (str(UUID(int=1)),))
        with pytest.raises(NoValidHost) as refusal:
            engine.schedule(request)
        why = refusal.value.why
        assert isinstance(why, Why)
        assert (why.change, why.is_truncated) == (None, True)
        assert "stopped at change_budget" in why_text(why)
        assert engine.counts()["changes_cut"] == 1
        refused(engine, 5)
        assert engine.counts()["changes_cut"] == 2
        assert engine.capacity(RequestSpec(flavor=flavor)).is_truncated
        assert engine.counts()["changes_cut"] == 3
        assert engine.counts()["no_valid_host"] == 1
        engine.decide_by(SchedulerOptions(change_budget=60))
        why = refused(engine, 5)
        assert (why.change, why.is_truncated) == ("ask for 4 instead of 5 VCPU", True)
        assert "A smaller change may also help" in why_text(why)
        enough = SchedulerOptions(change_budget=20_000)
        engine.decide_by(enough)
        why = refused(engine, 5)
        assert (why.change, why.is_truncated) == ("ask for 4 instead of 5 VCPU", False)
        assert not engine.capacity(RequestSpec(flavor=flavor)).is_truncated
        assert engine.counts()["changes_cut"] == 4


def test_a_filter_that_the_request_needs_is_not_to_be_disabled() -> None:
    """The request would be refused for its hint then: that is left out instead."""
    filters = (*DEFAULT_FILTERS, "JsonFilter")
    hints = {"query": ('["=", "$host", "c"]',)}
    with fleet({"a": 2, "b": 2}, enabled_filters=filters) as engine:
        alone = refused(engine, 1, scheduler_hints=hints)
        assert alone.change == "leave out the hint query"
        both = refused(engine, 4, scheduler_hints=hints)
        assert both.change == (
            "ask for 2 instead of 4 VCPU, and leave out the hint query"
        )


def test_a_filter_given_up_leaves_no_hint_without_effect() -> None:
    filters = (*DEFAULT_FILTERS, "JsonFilter")
    hints: dict[str, tuple[str, ...]] = {"query": ('["=", "$host", "c"]',)}
    flavor = Flavor(vcpus=1, memory_mb=64, root_gb=1)
    request = ScheduleRequest(RequestSpec(flavor=flavor, scheduler_hints=hints))
    disabled = Relaxation("filter", None, ("JsonFilter",))
    with (
        fleet({"a": 2}, enabled_filters=filters) as engine,
        pytest.raises(Invalid, match="'query' limits nothing here"),
    ):
        engine.decide(request, (disabled,))


def test_search_stays_within_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does the caching driver forget what is asked for to remember what is not."""
    tried: list[int] = []

    def counted(*given: Any, **more: Any) -> InstancePicks:
        tried.append(1)
        return pick_hosts(*given, **more)

    monkeypatch.setattr("gantt.scheduler.explain.trials.pick_hosts", counted)
    hosts = {f"h{vcpus}": vcpus for vcpus in range(1, 60)}
    with fleet(hosts, driver="caching", change_budget=500) as engine:
        for _ in range(2):
            why = refused(engine, 100, requested_destination=Destination(host="h9"))
        assert 2 < len(tried) <= 2 * 500 // 25
        assert why.change == "ask for 9 instead of 100 VCPU"
        assert engine.counts()["shapes_kept"] == 1


def test_many_names_cost_more_of_the_budget() -> None:
    """Each aggregate and trait is looked up again for each try."""
    few, many = (frozenset(map(str, range(count))) for count in (2, 800))
    with fleet({"a": 4}, change_budget=2_000, names_are_checked=True) as engine:
        for names, is_cut in ((many, True), (few, False)):
            for place in (
                Destination(aggregates=tuple(frozenset((one,)) for one in names)),
                Destination("b", aggregates=(names,)),
                Destination("b", forbidden_aggregates=names),
            ):
                why = refused(engine, 1, requested_destination=place)
                assert why.is_truncated is is_cut


def test_many_extra_specs_cost_more_of_the_budget() -> None:
    """Columns of what hosts report are made anew for each try then."""
    many = {f"capabilities:x{number}": "y" for number in range(40)}
    few = {"capabilities:x": "y"}
    with fleet({"a": 4}, change_budget=2_000) as engine:
        for specs, is_cut in ((many, True), (few, False)):
            flavor = Flavor(vcpus=1, memory_mb=64, root_gb=1, extra_specs=specs)
            why = engine.decide(ScheduleRequest(RequestSpec(flavor=flavor))).why
            assert why is not None
            assert why.is_truncated is is_cut
