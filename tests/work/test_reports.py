"""What full reports of agents cost: calls, and how often a topology is read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.forms.device_pools import read_pools
from gantt.model.forms.host_topology import read_cells
from gantt.model.hosts import HostStats
from gantt.store import StoreOptions
from tests.reported import report_of
from tests.work.counting import CallCounter

CELLS, CPUS = 4, 16
LIST = 20
BOUNDS = {"of new hosts": 465, "of known hosts": 157}
"""Kind of full reports -> most calls in Python for each of ``LIST`` in one call, over
the caller's thread and the committer's."""
TRAITS = tuple(f"HW_CPU_X86_{name}" for name in ("AVX", "AVX2", "SSE", "SSE2", "MMX"))


@pytest.fixture
def engine(counter: CallCounter, tmp_path: Path) -> Iterator[Gantt]:
    # On a busy machine a batch also ends when it has been planned for long, and callers
    # that have waited for long take a seat: seven calls more for each of them.
    options = EngineOptions(
        store=StoreOptions(create=True), sweep_s=600, planning_ms=600_000, wait_s=600
    )
    with open_gantt(f"sqlite:///{tmp_path / 'books.db'}", options) as found:
        assert isinstance(found, Gantt)
        counter.watch()
        yield found


def cell(number: int, used: int = 0) -> dict[str, Any]:
    cpus = list(range(number * CPUS, (number + 1) * CPUS))
    cores = [cpus[one : one + 2] for one in range(0, CPUS, 2)]
    pages = [{"size_kb": 4, "total": 10**6}, {"size_kb": 2048, "total": 1000}]
    pages[1]["used"] = used
    return {
        "id": number,
        "cpuset": cpus,
        "pcpuset": cpus,
        "memory": 10**5,
        "siblings": cores,
        "mempages": pages,
    }


def full(
    number: int, turn: int, *, used: int = 0, vcpus_used: int = 0, devices: int = 8
) -> bytes:
    """The full report of a host by the agent of its ``turn``."""
    name = f"h{number}"
    named = [{"address": f"0000:3b:02.{one}"} for one in range(devices)]
    pool = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}
    instances = [f"{number:08x}-0000-4000-8000-{one:012x}" for one in range(4)]
    return msgspec.json.encode(
        {
            "host": name,
            "node": name,
            "incarnation": f"turn-{turn}",
            "sequence": 1,
            "taken_at": time.time_ns() // 1000,
            "full": True,
            "fields": {
                "hypervisor_hostname": name,
                **dict.fromkeys(("memory_mb", "free_ram_mb"), 4 * 10**5),
                **dict.fromkeys(("local_gb", "free_disk_gb"), 2000),
                **dict.fromkeys(("memory_mb_used", "local_gb_used"), 0),
                "vcpus": 64,
                "vcpus_used": vcpus_used,
                "cpu_info": {"arch": "x86_64", "features": ["avx", "sse"]},
                "metrics": [{"name": "cpu.user.time", "value": 2**40 + turn}],
                "numa_topology": {"cells": [cell(one, used) for one in range(CELLS)]},
                "pci_stats": [{**pool, "count": devices, "devices": named}],
                "traits": TRAITS,
                "instances": instances,
                "lists_instances": True,
            },
        }
    )


def applied(engine: Gantt, reports: list[bytes]) -> None:
    outcomes = engine.report_hosts(reports)
    assert {one.outcome for one in outcomes} == {"applied"}, outcomes


def most(engine: Gantt, counter: CallCounter, make: Callable[[int], bytes]) -> float:
    """Calls for one report in a list of them."""
    found = []
    for turn in range(4):
        reports = [make(turn * LIST + one) for one in range(LIST)]
        with counter:
            applied(engine, reports)
        found.append(counter.calls / LIST)
    return statistics.median(found)


def test_calls_of_full_reports(engine: Gantt, counter: CallCounter) -> None:
    found = {
        "of new hosts": most(engine, counter, lambda one: full(one, 0)),
        "of known hosts": most(
            engine, counter, lambda one: full(one, 1, vcpus_used=one % 3 + 1)
        ),
    }
    assert all(found[kind] <= bound for kind, bound in BOUNDS.items()), found
    assert min(found.values()) > 40, "the threads were not watched"


def test_a_topology_is_read_once_for_all_hosts_that_have_it(engine: Gantt) -> None:
    module = "gantt.model.forms.shared_topology"
    with (
        mock.patch(f"{module}.read_cells", wraps=read_cells) as cells,
        mock.patch(f"{module}.read_pools", wraps=read_pools) as pools,
    ):
        # Checked at the door and by the rule, and read into columns.
        applied(engine, [full(one, 0, used=7, devices=7) for one in range(LIST)])
        assert (cells.call_count, pools.call_count) == (1, 1)
        applied(engine, [full(1, 1, used=8, devices=7)])
        assert (cells.call_count, pools.call_count) == (2, 1)
        applied(engine, [full(2, 1, used=8, devices=6)])
        assert (cells.call_count, pools.call_count) == (2, 2)


def test_a_wrong_topology_is_refused_each_time(engine: Gantt) -> None:
    wrong = full(1, 0, used=2000)
    for _ in range(2):
        (outcome,) = engine.report_hosts([wrong])
        assert outcome.outcome == "refused"
        assert "stats.numa_topology.cells.0.mempages" in outcome.message


def test_a_list_of_reports_fills_its_batches() -> None:
    # A batch also ends when it has been planned for long, on a busy machine.
    options = EngineOptions(planning_ms=600_000)
    reports = [
        report_of(f"h{number}", 1, HostStats(vcpus=1, memory_mb=1, local_gb=1))
        for number in range(2 * options.batch_size)
    ]
    with open_gantt("memory://", options) as books:
        before = books.counts()["batches"]
        outcomes = books.report_hosts(reports)
        after = books.counts()["batches"]
    assert {one.outcome for one in outcomes} == {"applied"}
    assert after - before == 2
