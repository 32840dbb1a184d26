"""Alternates: as many as asked for, and none that the request itself has filled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model import commands as c
from gantt.model.hosts import Service
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.idle_host import idle

POOL = "00000000-0000-4000-8000-000000000001"
NEAR = "00000000-0000-4000-8000-000000000002"


def opened(**options: int) -> Gantt:
    known = SchedulerOptions(**options)  # type: ignore[arg-type]
    return open_gantt("memory://", EngineOptions(scheduler=known))


def report(engine: Gantt, host: str, free_ram_mb: int = 8192) -> str:
    """A host with room for four; its provider."""
    stats = idle(
        4,
        8192,
        free_ram_mb=free_ram_mb,
        cpu_allocation_ratio=1.0,
        hypervisor_hostname=host,
    )
    engine.update_host(host, host, stats)
    (view,) = engine.list_hosts(host=host)
    assert view.provider_uuid is not None
    return view.provider_uuid


def ask(count: int) -> ScheduleRequest:
    flavor = Flavor(vcpus=1, memory_mb=512, root_gb=10)
    names = tuple(
        f"0000000{number}-0000-4000-8000-0000000000ff" for number in range(count)
    )
    return ScheduleRequest(RequestSpec(flavor=flavor, project_id="p"), names)


@pytest.fixture
def pooled() -> Iterator[Gantt]:
    """Four hosts with one pool of disk, for two instances."""
    with opened() as engine:
        engine.create_provider("pool", uuid=POOL)
        engine.set_inventories(POOL, {"DISK_GB": c.Inventory(total=20)})
        engine.submit(c.SetTraits(POOL, (SHARES_VIA_AGGREGATE,)))
        engine.submit(c.SetAggregates(POOL, (NEAR,)))
        for host in "abcd":
            uuid = report(engine, host)
            engine.submit(c.SetAggregates(uuid, (NEAR,)))
            engine.submit(c.DeleteInventory(uuid, "DISK_GB"))
        yield engine


@pytest.mark.parametrize("choices", [1, 2, 16])
@pytest.mark.parametrize("attempts", [1, 3, 5])
def test_small_subset_size_does_not_limit_alternates(
    choices: int, attempts: int
) -> None:
    with opened(choices=choices, max_attempts=attempts) as engine:
        for host in "abcdef":
            report(engine, host)
        ((_, *alternates),) = engine.schedule(ask(1))
        assert len({one.service_host for one in alternates}) == attempts - 1


def test_alternates_are_chosen_after_all_instances(
    pooled: Gantt,
) -> None:
    found = pooled.schedule(ask(2))
    assert [len(one) for one in found] == [1, 1]


def test_alternates_of_many_instances() -> None:
    with opened(choices=1) as engine:
        for host in "abcdef":
            report(engine, host)
        found = engine.schedule(ask(2))
        assert [len(one) for one in found] == [3, 3]
        chosen = {one[0].service_host for one in found}
        assert not chosen & {more.service_host for one in found for more in one[1:]}


@pytest.mark.parametrize(("attempts", "alternates"), [(3, [0, 2]), (7, [2, 5])])
def test_alternates_of_several_are_looked_for_on_the_best_hosts_of_all_cells(
    attempts: int, alternates: list[int]
) -> None:
    """The first of two instances is alone in its cell; the five best that are left,
    or nine, are looked at. Nova has two alternates for it with either."""
    free = {"x": 8192, "y": 1024, "z": 1024, **dict.fromkeys("abcdef", 8000)}
    with opened(max_attempts=attempts) as engine:
        for host, free_ram_mb in free.items():
            report(engine, host, free_ram_mb)
            cell = "one" if host in "xyz" else "other"
            engine.update_service(Service(host, cell_uuid=cell))
        found = engine.schedule(ask(2))
        assert found[0][0].service_host == "x"
        assert [len(one) - 1 for one in found] == alternates
