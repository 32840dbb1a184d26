"""How many calls the four busiest paths of a scheduler make, in Python.

Counted over the threads that a caller waits for: its own and the committer's. Counts
are the same on a busy machine as on an idle one.
"""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gantt.client.scheduler import SchedulerClient
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import Inventory
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.store import StoreOptions, open_store
from tests.engine.faults import FaultyStore
from tests.work.counting import CallCounter

HOSTS = 100
BOUNDS = {
    "select": (410, 245),  # its record keeps the request; picks are a module
    "set inventories": (151, 86),
    "unchanged report": (59, 33),
    "changed report": (170, 99),  # one more room: which provider it stands for
}
"""Path -> most calls, and most of them that go to another module."""

MOST_MODULES = 70
OFTEN = 7
OFTEN_ENTERED = {
    "gantt.engine.commit.pending_writes",
    "gantt.engine.reading.log_tailer",
    "gantt.model.spec",
    "gantt.placement.rules.claims",
    "gantt.scheduler.evaluation.evaluation",
    "gantt.scheduler.selection.answer",
    "gantt.store.session",
    "gantt.store.sql_store",
}
"""Modules that a warm select calls more than ``OFTEN`` times."""

OPTIONS = EngineOptions(
    scheduler=SchedulerOptions(driver="caching"),
    sweep_s=600,
    wait_s=600,
    store=StoreOptions(create=True),
)


def report(name: str, used: int = 0) -> HostStats:
    return HostStats(
        vcpus=64,
        memory_mb=262144,
        local_gb=2000,
        vcpus_used=used,
        memory_mb_used=0,
        local_gb_used=0,
        free_ram_mb=262144,
        free_disk_gb=2000,
        cpu_allocation_ratio=4.0,
        ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0,
        hypervisor_hostname=name,
    )


@pytest.fixture(scope="module")
def engine(counter: CallCounter, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """100 hosts in a file of SQLite, decided on by the caching driver."""
    path = tmp_path_factory.mktemp("paths") / "books.db"
    with open_gantt(f"sqlite:///{path}", OPTIONS) as found:
        for number in range(HOSTS):
            name = f"h{number}"
            found.update_host(name, name, report(name))
        counter.watch()
        yield found


def paths(engine: Gantt) -> dict[str, Callable[[], object]]:
    """The paths, warm; each call does the same again, of new numbers."""
    client, numbers = SchedulerClient(engine), count(1)
    spec = RequestSpec(
        flavor=Flavor(vcpus=1, memory_mb=512, root_gb=1), project_id="p", user_id="u"
    )
    provider = engine.create_provider(f"bare-{uuid.uuid4()}")

    def select() -> None:
        instance = f"{next(numbers):08x}-0000-4000-8000-000000000000"
        client.select_destinations(None, spec, instance_uuids=[instance])

    def set_inventories() -> None:
        number = next(numbers)
        found = {"VCPU": Inventory(10 + number), "MEMORY_MB": Inventory(1000 + number)}
        engine.set_inventories(provider.uuid, found)

    def report_again() -> None:
        client.update_resource_stats(None, "h1", report("h1"))

    def report_anew() -> None:
        client.update_resource_stats(None, "h2", report("h2", next(numbers) % 60))

    return {
        "select": select,
        "set inventories": set_inventories,
        "unchanged report": report_again,
        "changed report": report_anew,
    }


@pytest.mark.parametrize("name", BOUNDS)
def test_calls_of_a_path(engine: Gantt, counter: CallCounter, name: str) -> None:
    path = paths(engine)[name]
    for _ in range(5):
        path()
    calls, moves = [], []
    for _ in range(20):
        with counter:
            path()
        calls.append(counter.calls)
        moves.append(counter.moves)
    found = statistics.median(calls), statistics.median(moves)
    most_calls, most_moves = BOUNDS[name]
    assert found[0] <= most_calls, found
    assert found[1] <= most_moves, found
    assert found[0] > 10 and found[1] > 10, "the threads were not watched"


def test_a_bare_host_name_costs_no_extra_read(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path / 'books.db'}"
    store = FaultyStore(open_store(path, OPTIONS.store))
    with Gantt(store, OPTIONS) as engine:
        client, numbers = SchedulerClient(engine), count()

        def statements(name: str | tuple[str, str], used: int) -> int:
            before = int(store.statements)
            client.update_resource_stats(None, name, {"running_vms": used})
            return int(store.statements) - before

        def costs(name: str | tuple[str, str]) -> list[int]:
            """Of a report with news and of two that repeat it."""
            used = next(numbers)
            return [statements(name, used) for _ in range(3)]

        costs(("h1", "h1"))
        assert costs("h1") == costs(("h1", "h1"))


def test_the_modules_of_a_decision(engine: Gantt, counter: CallCounter) -> None:
    """What a reader of one warm select opens: not many, and a few have most of it."""
    select = paths(engine)["select"]
    for _ in range(5):
        select()
    with counter:
        select()
    entered = {n for n in counter.by_module if n.startswith("gantt.")}
    assert {"gantt.engine.scheduling_cycle", "gantt.scheduler.cycle"} <= entered
    assert len(entered) <= MOST_MODULES
    often = {n for n in entered if counter.by_module[n] > OFTEN}
    assert often <= OFTEN_ENTERED, counter.by_module
