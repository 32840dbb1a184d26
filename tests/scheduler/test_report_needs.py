"""What agents are to report: what the enabled filters and weighers read."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gantt.errors import Refused
from gantt.model.needs import ALWAYS, COLUMNS, REPORT_ALSO, needed, needs_of
from gantt.scheduler.contract import Cacheable, Filter
from gantt.scheduler.host_columns import NAMES
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins import registry
from gantt.scheduler.plugins.declared_reads import FACTOR, OF_EACH
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.report_needs import REPORTED, needs

WEIGHERS = "gantt.scheduler.scoring.weighers."


def enabled(
    filters: tuple[str, ...] = (), weighers: tuple[str, ...] = (), **more: Any
) -> SchedulerOptions:
    return SchedulerOptions(enabled_filters=filters, weight_classes=weighers, **more)


def columns(options: SchedulerOptions) -> set[str]:
    """What is asked for beside what is always sent."""
    return set(needs(policy_of(options)).columns) - set(ALWAYS)


def test_without_plugins_the_inventory_is_sent_nevertheless() -> None:
    found = needs(policy_of(enabled()))
    assert set(found.columns) == set(ALWAYS)
    assert not found.everything and not found.readers


def test_the_union_and_who_reads_what() -> None:
    options = enabled(("NumInstancesFilter", "IoOpsFilter"), ("RAMWeigher",))
    found = needs(policy_of(options))
    assert columns(options) == {"stats.num_instances", "stats.io_workload"}
    assert found.readers == {
        "NumInstancesFilter": ("stats.num_instances",),
        "IoOpsFilter": ("stats.io_workload",),
        "RAMWeigher": ("free_ram_mb", "memory_mb_used"),
    }


def test_only_metrics_that_are_weighed_are_needed() -> None:
    weighed = {"cpu.percent": 1.0, "numa.membw.current": -1.0}
    options = enabled(("MetricsFilter",), metrics_weight_setting=weighed)
    assert columns(options) == {"metrics.cpu.percent", "metrics.numa.membw.current"}
    assert columns(enabled(("MetricsFilter",), ("MetricsWeigher",))) == set()


def test_a_part_of_what_is_sent_whole_is_no_need_of_its_own() -> None:
    options = enabled(("NumInstancesFilter",), report_also=("stats", "host_ip"))
    assert columns(options) == {"stats", "host_ip"}
    found = needs(policy_of(options))
    assert found.readers[REPORT_ALSO] == ("host_ip", "stats")


def test_what_no_host_reports_is_refused() -> None:
    with pytest.raises(Refused, match=re.escape("[gantt] report_also names 'colour'")):
        policy_of(enabled(report_also=("colour",)))


class Silent(Filter):
    def mask(self, hosts: Any, request: Any) -> Any:
        raise NotImplementedError


class Telling(Silent):
    cacheable = Cacheable(needs=("factor:metrics", "free_ram_mb"), reads=())


def test_plugins_tell_what_they_need_or_need_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = "tests.scheduler.test_report_needs:"
    known = [EntryPoint(one, place + one, "") for one in ("Silent", "Telling")]
    monkeypatch.setattr(registry, "entry_points", lambda group: known)
    told = needs(policy_of(enabled(("Telling",))))
    assert not told.everything
    assert told.readers["Telling"] == ("free_ram_mb", "memory_mb_used", "metrics")
    found = needs(policy_of(enabled(("Silent", "Telling"))))
    assert found.everything and found.readers["Silent"] is None
    assert found.digest != told.digest


def test_a_driver_of_another_package_needs_everything() -> None:
    policy = policy_of(enabled(driver="caching"))
    assert needs(policy, has_chooser=True).everything


def test_the_digest_follows_what_is_needed_and_not_by_whom() -> None:
    one = needs_of({"a": ("metrics",), "b": ()})
    assert one.digest == needs_of({"c": ("metrics",)}).digest
    assert one.digest != needs_of({"a": ("metrics.cpu.percent",)}).digest
    assert one.digest != needs_of({"a": ("metrics",), "b": None}).digest


def test_every_column_is_of_a_report_or_of_something_else() -> None:
    """A new column of hosts must be told to agents, or be known not to be theirs."""
    elsewhere = set(
        (
            "id provider has_service is_disabled is_forced_down last_seen_up "
            "created_at updated_at touched claims claimed_vcpus claimed_memory_mb "
            "claimed_disk_mb claimed_instances starting rooms domains"
        ).split()
    )
    assert REPORTED.keys() | elsewhere == NAMES | OF_EACH
    assert REPORTED.keys().isdisjoint(elsewhere)
    for fields in REPORTED.values():
        assert {one.partition(".")[0] for one in fields} <= COLUMNS
    every = (*registry.built_in_filters().values(),)
    for one in every:
        assert one.cacheable is not None
        for need in one.cacheable.needs:
            if need.startswith(FACTOR):
                assert need.removeprefix(FACTOR).partition(".")[0] in COLUMNS


FOUND: dict[str, Any] = {
    "vcpus": 8,
    "host_ip": "::1",
    "metrics": [{"name": "cpu.percent", "value": 0.5}, {"name": "other", "value": 1}],
    "cpu_info": {"maxphysaddr": {"bits": 48}, "model": "x"},
    "stats": None,
}


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ((), {}),
        (("host_ip",), {"host_ip": "::1"}),
        (("metrics.cpu.percent",), {"metrics": FOUND["metrics"][:1]}),
        (("metrics",), {"metrics": FOUND["metrics"]}),
        (
            ("cpu_info.maxphysaddr.bits",),
            {"cpu_info": {"maxphysaddr": {"bits": 48}}},
        ),
        (("stats.io_workload",), {"stats": None}),
        (("extra_resources",), {}),
        (None, FOUND),
    ],
)
def test_what_is_needed_of_what_was_found(
    asked: tuple[str, ...] | None, more: dict[str, Any]
) -> None:
    assert needed(FOUND, needs_of({"one": asked})) == {"vcpus": 8, **more}
