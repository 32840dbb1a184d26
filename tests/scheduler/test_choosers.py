"""Drivers of other packages: what they answer is checked, followed and explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.errors import Invalid, NoValidHost, PluginFailed, Refused
from gantt.model.selection import Step, Why
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.contract import Chooser
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.selection.picks import InstancePicks
from tests.scheduler.choosers import Told, install, install_told, named
from tests.scheduler.desk import Desk, decided

SPEC = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=1))
OPTIONS = SchedulerOptions(driver="told")


class Dice:
    """Always the same number."""

    def randrange(self, stop: int, /) -> int:
        return min(7, stop - 1)

    def shuffle(self, places: list[Any], /) -> None:
        places.reverse()


def desk_of(count: int) -> Desk:
    desk = Desk(1)
    desk.add_hosts(count)
    return desk


def picked(
    desk: Desk,
    count: int = 1,
    *,
    spec: RequestSpec = SPEC,
    options: SchedulerOptions = OPTIONS,
    alternates: bool = False,
    held: dict[int, HeldHost] | None = None,
) -> InstancePicks:
    request = ScheduleRequest(
        spec,
        tuple(desk.new_uuid() for _ in range(count)),
        return_alternates=alternates,
    )
    driver = driver_of(policy_of(options))
    return decided(desk, driver, request, rng=Dice(), held=held or {})


def names(desk: Desk, found: InstancePicks) -> list[list[str]]:
    hosts = desk.state.fleet.hosts.hosts
    return [[hosts[one.row] for one in each] for each in found.picks]


# -- what is installed -----------------------------------------------------------------


class Former(Driver):
    """Of the time when drivers found the hosts, too."""


class Eldest:
    def __init__(self, policy: object) -> None:
        del policy

    def field(self) -> None:
        """The contract before that."""


class Mute(Chooser):
    """Has no ``choose``."""


class Needy(Chooser):
    def __init__(self, policy: object) -> None:
        del policy


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no.such.module:Driver", "cannot be made: ModuleNotFoundError"),
        (f"{__name__}:Former", "theirs decides by feasible_hosts, .* method choose"),
        (f"{__name__}:Eldest", "theirs decides by field, .* method choose"),
        (f"{__name__}:Desk", "Desk cannot be made: TypeError"),
        (f"{__name__}:Taken", "Taken cannot be made: TypeError"),
        ("builtins:dict", "theirs, builtins.dict must be a gantt.scheduler.contract"),
        (f"{__name__}:Mute", "theirs, .*Mute has no method choose: give it one"),
        (f"{__name__}:Needy", "Needy cannot be made: TypeError"),
    ],
)
def test_what_is_no_driver_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    install(monkeypatch, "theirs", value)
    with pytest.raises(Refused, match=says):
        driver_of(policy_of(SchedulerOptions(driver="theirs")))
    with pytest.raises(Refused, match="there is caching, chance, filter, theirs"):
        driver_of(policy_of(SchedulerOptions(driver="other")))


# -- what it answers -------------------------------------------------------------------


def _raises(error: BaseException) -> Callable[..., Any]:
    def raising(*_: object) -> Any:
        raise error

    return raising


def _ones(*values: Any) -> Callable[..., Any]:
    return lambda *_: list(values)


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (_raises(KeyError("rack")), "failed in choose: KeyError: 'rack'"),
        (_raises(SystemExit("gone")), "failed in choose: SystemExit: gone"),
        (_raises(NoValidHost("none")), "failed in choose: NoValidHost: none"),
        (lambda *_: None, "gave None: a list of 1 was asked for"),
        (lambda h, *_: np.zeros((1, 5), np.int64), r"gave int64\[1, 5\]: a list"),
        (lambda *_: iter([]), "gave a list_iterator: a list of 1"),
        (_ones(), "gave a list of 0: a list of 1 was asked for"),
        (_ones(np.arange(5), np.arange(5)), "gave a list of 2: a list of 1"),
        (_ones(None), r"gave None for an instance: int64\[at most 5\]"),
        (_ones([0, 1]), "gave a list for an instance"),
        (_ones(np.zeros(5)), r"gave float64\[5\] for an instance"),
        (_ones(np.full(5, np.nan)), r"gave float64\[5\] for an instance"),
        (_ones(np.ones(5, np.bool_)), r"gave bool\[5\] for an instance"),
        (_ones(np.zeros((5, 1), np.int64)), r"gave int64\[5, 1\] for an instance"),
        (_ones(np.array(["h0"])), r"gave <U2\[1\] for an instance"),
        (_ones(np.array([0, 5])), "gave place 5 for an instance: places are 0 to 4"),
        (_ones(np.array([-1])), "gave place -1 for an instance"),
        (_ones(np.array([2**63], np.uint64)), f"gave place {2**63} for an instance"),
        (_ones(np.ma.array([-1], mask=[True])), "gave place .* for an instance"),
        (_ones(np.array([2, 1, 2])), "gave place 2 2 times for one instance"),
        (lambda h, *_: h.free_ram_mb.sort(), "choose: ValueError: .*read-only"),
        (lambda h, w, *_: w.fill(0.0), "choose: ValueError: .*read-only"),
    ],
)
def test_one_that_fails_is_named(
    says: Callable[..., Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, says)
    desk = desk_of(5)
    with pytest.raises(PluginFailed, match=message) as caught:
        picked(desk)
    assert caught.value.message.startswith(f"The driver told, {Told.__module__}.Told ")
    assert "take it out of driver of [scheduler]" in caught.value.message
    assert caught.value.public.startswith("The driver told failed")


def test_it_may_say_that_the_request_is_at_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_told(monkeypatch, _raises(Invalid("the hint row is missing")))
    with pytest.raises(Invalid, match="the hint row is missing"):
        picked(desk_of(2))


def test_one_that_assigns_other_rows_is_judged_by_the_hosts_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def narrows(hosts: Hosts, *_: object) -> list[Any]:
        hosts.rows = hosts.rows[1:]
        return [np.array([0])]

    install_told(monkeypatch, narrows)
    desk = desk_of(3)
    assert names(desk, picked(desk)) == [["h0"]]


def test_what_it_keeps_and_changes_later_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = np.array([2, 1, 0])
    install_told(monkeypatch, _ones(kept))
    desk = desk_of(3)
    found = picked(desk)
    kept[:] = 1
    assert found.remaining.chosen is not None
    assert found.remaining.chosen.rows.tolist() == [2, 1, 0]


# -- how it is followed ----------------------------------------------------------------


def test_its_order_is_that_of_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    install_told(monkeypatch, named("h2 h0 h1"))
    desk = desk_of(4)
    options = replace(OPTIONS, host_subset_size=3, shuffle_best_same_weighed_hosts=True)
    # Neither of these draws among hosts that it chose.
    found = picked(desk, options=options)
    assert names(desk, found) == [["h2", "h0", "h1"]]
    assert found.feasible.steps[-1] == Step("driver told", 4, 3, 1)
    assert Told.asked == [(["h0", "h1", "h2", "h3"], 1)]


def test_it_gets_weights_and_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def says(hosts: Hosts, weights: Any, count: int, seed: int) -> list[Any]:
        seen.append((weights.dtype, weights.shape, seed))
        return [np.arange(len(hosts))] * count

    install_told(monkeypatch, says)
    picked(desk_of(4))
    assert seen == [(np.float64, (4,), 7)]


def test_each_instance_has_an_order_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_told(monkeypatch, named("h1 h0", "h3", "h1 h2"))
    desk = desk_of(4)
    found = picked(desk, 3, alternates=True)
    assert names(desk, found) == [["h1", "h0"], ["h3"], ["h1", "h2"]]
    hosts = desk.state.fleet.hosts.hosts
    spare = [hosts[one.row] for one in found.spare]
    # For alternates: all hosts that any instance may try, as they are named first.
    assert spare == ["h1", "h0", "h3", "h2"]


def test_a_rule_of_a_group_applies_to_its_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_told(monkeypatch, named(*["h2 h0 h1"] * 3))
    desk = desk_of(4)
    group = InstanceGroup(desk.new_uuid(), "anti-affinity")
    found = picked(desk, 3, spec=replace(SPEC, instance_group=group))
    assert names(desk, found) == [["h2", "h0", "h1"], ["h0", "h1"], ["h1"]]
    with pytest.raises(NoValidHost, match="4 instances were asked for, 3 have"):
        install_told(monkeypatch, named(*["h2 h0 h1"] * 4))
        picked(desk, 4, spec=replace(SPEC, instance_group=group))


def test_hosts_that_it_leaves_out_are_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_told(monkeypatch, lambda *_: [np.zeros(0, np.int64)])
    with pytest.raises(NoValidHost) as caught:
        picked(desk_of(3))
    why = caught.value.why
    assert isinstance(why, Why)
    assert why.steps[-1] == Step("driver told", 3, 0, 3)
    assert [one.removed_by for one in why.nearest] == [("driver told",)] * 3


def test_an_instance_without_a_host_of_its_own_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where others have hosts to spare."""
    install_told(monkeypatch, named("h0 h1", ""))
    with pytest.raises(NoValidHost, match="2 instances were asked for, 1 has"):
        picked(desk_of(3), 2)


def test_the_search_for_a_reason_asks_it_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_told(monkeypatch, lambda h, w, count, _: [np.zeros(0, np.int64)] * count)
    hints = {f"hint-{number}": ("x",) for number in range(50)}
    options = replace(OPTIONS, names_are_checked=True)
    with pytest.raises(NoValidHost) as caught:
        spec = replace(SPEC, scheduler_hints=hints)
        picked(desk_of(3), spec=spec, options=options)
    assert isinstance(caught.value.why, Why)
    assert caught.value.why.is_truncated
    assert len(Told.asked) == 1 + 9


@pytest.mark.parametrize(
    "fields",
    [
        {"force_hosts": ("h1",)},
        {"force_nodes": ("h1",)},
        {"scheduler_hints": {"_nova_check_type": ("rebuild",)}},
    ],
)
def test_it_is_not_asked_where_there_is_no_choice(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, _raises(AssertionError("asked")))
    desk = desk_of(3)
    assert names(desk, picked(desk, spec=replace(SPEC, **fields)))[0]
    with pytest.raises(NoValidHost, match="No host has reported"):
        picked(desk_of(0))
    assert Told.asked == []


def test_it_sees_what_is_held_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def says(hosts: Hosts, weights: Any, count: int, _seed: int) -> list[Any]:
        seen.append((hosts.vcpus_used.tolist(), np.isneginf(weights).tolist()))
        return [np.argsort(-weights, kind="stable")] * count

    install_told(monkeypatch, says)
    desk = desk_of(2)
    before = desk.state.fleet.hosts.vcpus_used[:2].tolist()
    most = Taken(10_000, 2**40, 2**40)
    found = picked(desk, held={0: HeldHost(most, count=1)})
    assert seen == [([before[0] + 10_000, before[1]], [True, False])]
    assert names(desk, found) == [["h1", "h0"]]
