"""Hosts as columns: what reports amount to, and what only some rules read of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import HostRow, ProviderRow
from gantt.state import check
from gantt.state.column import NO_ROW
from gantt.state.host_table import HostTable
from gantt.state.report_decoder import (
    AMOUNTS,
    ReportDecoder,
    amounts,
    number,
    said_ratios,
)
from gantt.state.state import State
from tests.state.books import filled


def host(number: int, uuid: str | None = None, **stats: Any) -> HostRow:
    return HostRow(number, f"h{number}", "n", uuid, json.dumps(stats), 1, None)


def put(hosts: HostTable, *rows: HostRow) -> list[int]:
    return [hosts.put(row, NO_ROW) for row in rows]


def read(**stats: Any) -> dict[str, float]:
    return dict(zip(AMOUNTS, amounts(stats), strict=True))


# Amounts.


def test_what_a_report_amounts_to() -> None:
    hosts = filled().fleet.hosts
    row = hosts.row_of("h1", "n1")
    assert row is not None
    found = {name: getattr(hosts, name)[row].item() for name in hosts.specs}
    assert {name: found[name] for name in AMOUNTS} == {
        "has_state": True,
        "vcpus_total": 64,
        "total_ram_mb": 2048,
        "total_disk_gb": 100,
        "reported_vcpus_used": 4,
        "reported_free_ram_mb": 1536,
        "reported_free_disk_mb": 70 * 1024,
        "reported_instances": 3,
        "reported_io_ops": 1,
        "failed_builds": 2,
        "hypervisor_version": 8_002_000,
        "cpu_ratio": 4.0,
        "ram_ratio": 1.0,
        "disk_ratio": 1.0,
    }
    assert found["pci_free"] == 3
    # One claim of 2 VCPUs, 256 MB and 10 GB is not known to the host yet.
    assert (found["vcpus_used"], found["free_ram_mb"]) == (6, 1280)
    assert found["free_disk_mb"] == 60 * 1024
    assert (found["num_instances"], found["num_io_ops"]) == (4, 2)


def test_the_least_disk_that_is_said_to_be_free_counts() -> None:
    assert read(free_disk_gb=9)["reported_free_disk_mb"] == 9 * 1024
    assert read(free_disk_gb=9, disk_available_least=-1)["reported_free_disk_mb"] < 0
    assert read(free_disk_gb=9, disk_available_least=20)["reported_free_disk_mb"] == (
        9 * 1024
    )
    nothing = read(disk_available_least=5)
    assert (nothing["has_state"], nothing["reported_free_disk_mb"]) == (False, 0)


def test_free_memory_is_what_is_said_or_what_is_not_used() -> None:
    used = {"memory_mb": 100, "memory_mb_used": 30}
    assert read(**used)["reported_free_ram_mb"] == 70
    assert read(**used, free_ram_mb=5)["reported_free_ram_mb"] == 5
    assert read(**used, free_ram_mb=None)["reported_free_ram_mb"] == 70


@pytest.mark.parametrize("odd", [None, [], 7, "text", {"num_instances": None}])
def test_odd_stats_count_for_nothing(odd: Any) -> None:
    assert read(stats=odd)["reported_instances"] == 0


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("7", 7), (7.9, 7), (True, 1), (None, 0), ("x", 0), (float("inf"), 0), ([], 0)],
)
def test_a_count_is_a_number_or_its_digits(value: Any, wanted: int) -> None:
    assert number(value) == wanted


# Memory.


def test_equal_parts_of_reports_are_one_object() -> None:
    reports = ReportDecoder()
    text = json.dumps({"cpu_info": {"features": [f"f{n}" for n in range(30)]}})
    first = reports.read(text)
    for other in range(3000):
        reports.read(json.dumps({"numa_topology": f"something else, {other:08}"}))
        if other % 500 == 0:
            # What is asked for now and then outlives what is not.
            assert reports.read(text)["cpu_info"] is first["cpu_info"]
    assert len(reports._parts) + len(reports._before) <= 2 * 1024


# Looking up.


def test_two_hosts_may_report_one_provider() -> None:
    """A node that moves from one service to another is known twice for a while."""
    state = State()
    old, new = host(1, "u"), HostRow(2, "other", "n", "u", "{}", None, None)
    provider = ProviderRow(1, "u", "n", 0, 1, None, None, None)
    for table, row in ((t.HOSTS, old), (t.HOSTS, new), (t.PROVIDERS, provider)):
        state.apply([Change(table, row.id, None, row)], Cursor(1))
    hosts = state.fleet.hosts
    assert hosts.provider[:2].tolist() == [0, 0]
    assert hosts.row_of_uuid("u") == 1
    assert list(hosts.rows_by_provider.get(0, ())) == [0, 1]
    assert check.problems(state) == []
    state.apply([Change(t.HOSTS, 2, new, None)], Cursor(2))
    assert hosts.row_of_uuid("u") == 0
    assert list(hosts.rows_by_provider.get(0, ())) == [0]
    assert check.problems(state) == []
    state.apply([Change(t.PROVIDERS, 1, provider, None)], Cursor(3))
    assert hosts.provider[0] == NO_ROW
    assert list(hosts.rows_by_provider.get(0, ())) == []
    assert (hosts.row_of_uuid("u"), hosts.row_of_uuid("other")) == (0, None)
    assert check.problems(state) == []


def test_a_host_may_report_another_provider() -> None:
    state = filled()
    old = state.fleet.hosts.get(1)
    new = HostRow(1, "h1", "n1", "other", "{}", 1, 2)
    state.apply([Change(t.HOSTS, 1, old, new)], Cursor(2))
    assert check.problems(state) == []
    assert state.fleet.hosts.row_of_uuid("root") is None
    assert state.fleet.hosts.get(1) == new
    state.apply([Change(t.HOSTS, 1, new, old)], Cursor(1))
    assert check.problems(state) == []


def test_many_hosts_and_back() -> None:
    hosts = HostTable()
    arch = hosts.factor("cpu_info", "arch")
    rows = put(hosts, *(host(n, f"u{n}", vcpus=n) for n in range(1, 101)))
    assert hosts.vcpus_total[rows].tolist() == list(range(1, 101))
    # None of them has the field: they have their places nevertheless.
    assert arch.codes[rows].tolist() == [0] * 100
    assert [row.id for row in hosts.rows()] == list(range(1, 101))
    for key in range(1, 101):
        hosts.remove(key)
    assert (hosts.count, list(hosts.rows()), hosts.rows_of("h1")) == (0, [], [])
    assert not hosts.vcpus_total.any()
    again = put(hosts, host(50), host(101))
    assert hosts.stats[again[0]] == {}
    assert hosts.row_by_id.get(1) is None
    # Rows ascend with ids, also where the removal of a host is undone.
    assert again == [rows[49], rows[99] + 1]


# Factors.


def test_a_factor_has_a_code_per_host_and_distinct_values() -> None:
    hosts = HostTable()
    put(
        hosts,
        host(1, cpu_info={"arch": "a"}),
        host(2, cpu_info={"arch": "b"}),
        host(3, cpu_info={"arch": "a"}),
        host(4, cpu_info=None),
        host(5),
    )
    arch = hosts.factor("cpu_info", "arch")
    assert arch.codes[:5].tolist() == [1, 2, 1, 0, 0]
    assert arch.values == [None, "a", "b"]
    assert hosts.factor("cpu_info", "arch") is arch
    whole = hosts.factor("cpu_info")
    # What is said to be null is not what nothing is said of.
    assert [whole.values[code] for code in whole.codes[:5]] == [
        {"arch": "a"},
        {"arch": "b"},
        {"arch": "a"},
        None,
        None,
    ]
    assert (whole.codes[3] != 0, whole.codes[4]) == (True, 0)


def test_a_factor_follows_the_reports() -> None:
    hosts = HostTable()
    put(hosts, host(1, hypervisor_type="QEMU", vcpus=1), host(2))
    kind = hosts.factor("hypervisor_type")
    put(hosts, host(1, hypervisor_type="QEMU", vcpus=2))
    assert [kind.values[code] for code in kind.codes[:2]] == ["QEMU", None]
    put(hosts, host(1, hypervisor_type="Xen"), host(2, hypervisor_type="QEMU"))
    assert [kind.values[code] for code in kind.codes[:2]] == ["Xen", "QEMU"]
    hosts.remove(1)
    assert kind.codes[:2].tolist() == [0, 1]
    put(hosts, host(3))
    assert kind.codes[:2].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("old", "new"), [(1, True), (1, 1.0), ("1", 1), ({"a": 1}, {"a": True}), (0, None)]
)
def test_values_that_only_seem_alike_are_told_apart(old: Any, new: Any) -> None:
    hosts = HostTable()
    put(hosts, host(1, extra_resources=old))
    factor = hosts.factor("extra_resources")
    put(hosts, host(1, extra_resources=new))
    assert repr(factor.values[factor.codes[0]]) == repr(new)


def test_metrics_and_texts_within_are_looked_into() -> None:
    hosts = HostTable()
    metrics = [{"name": "cpu", "value": 0.5}, "odd"]
    put(hosts, host(1, metrics=metrics, cpu_info='{"arch": "a"}'))
    put(hosts, host(2, metrics="[]", cpu_info="no object"))
    for path, wanted in (
        (("metrics", "cpu", "value"), 0.5),
        (("cpu_info", "arch"), "a"),
    ):
        factor = hosts.factor(*path)
        assert [factor.values[code] for code in factor.codes[:2]] == [wanted, None]


def test_the_oldest_factor_is_forgotten() -> None:
    hosts = HostTable()
    put(hosts, host(1, vcpus=1))
    first = hosts.factor("vcpus")
    for n in range(64):
        hosts.factor("stats", f"{n}")
    assert len(list(hosts.factors())) == 64
    again = hosts.factor("vcpus")
    assert again is not first
    np.testing.assert_array_equal(again.codes, first.codes)


def test_a_factor_of_what_always_changes_is_made_anew() -> None:
    hosts = HostTable()
    put(hosts, host(1))
    first = hosts.factor("local_gb_used")
    for used in range(3000):
        put(hosts, host(1, local_gb_used=used))
    again = hosts.factor("local_gb_used")
    assert again is not first
    assert len(again.values) < 1200
    assert again.values[again.codes[0]] == 2999


def test_ratios_of_an_older_release_are_those_that_it_wrote() -> None:
    """A host that no agent reports may not be heard of again: what is shown of it is
    what it is placed by."""
    wrote = {"VCPU": [4, 0, 4.0], "MEMORY_MB": None}
    stats: dict[str, Any] = {"_owned": {"inventories": wrote, "traits": []}}
    assert said_ratios(stats) == [4.0, 1.0, 1.0]
    stats["ram_allocation_ratio"] = 1.5
    assert said_ratios(stats) == [4.0, 1.5, 1.0]
