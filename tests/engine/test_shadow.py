"""Shadow: what Gantt decides beside Nova, against what Nova then claims."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt
from gantt.engine.options import EngineOptions
from gantt.engine.shadow.options import ShadowOptions
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import HostStats
from gantt.model.shadow import ShadowEvent, ShadowRecord
from gantt.model.spec import Flavor, RequestSpec
from gantt.store.interface import StoreOptions
from tests.engine.test_leader_tasks import until

SMALL = Flavor(vcpus=1, memory_mb=1024, root_gb=10, name="small")
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
QUICK = ShadowOptions(shadow_settle_s=0.5)


def opened(url: str, shadow: ShadowOptions = QUICK) -> Gantt:
    store = StoreOptions(create=True)
    return open_gantt(url, EngineOptions(shadow=shadow, store=store))


@pytest.fixture(params=["memory", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gantt]:
    url = "memory://"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/gantt.db"
    with opened(url) as found:
        yield found


def report(engine: Gantt, host: str, memory_mb: int = 8192, vcpus: int = 4) -> None:
    engine.update_host(
        host,
        host,
        HostStats(
            vcpus=vcpus,
            memory_mb=memory_mb,
            local_gb=100,
            free_ram_mb=memory_mb,
            free_disk_gb=100,
            cpu_allocation_ratio=1.0,
            hypervisor_hostname=host,
        ),
    )


def observe(engine: Gantt, uuid: str, **fields: Any) -> None:
    """The notification that Nova starts to select a host for ``uuid``."""
    known: dict[str, Any] = {"flavor": SMALL, "project_id": "p", "user_id": "u"}
    spec = RequestSpec(instance_uuid=uuid, **{**known, **fields})
    engine.shadow_event(ShadowEvent(spec, request_id=f"req-{uuid[:8]}"))


def claim(
    engine: Gantt, uuid: str, host: str, amounts: dict[str, int] = AMOUNTS
) -> None:
    """What Nova's scheduler writes to Placement."""
    (provider,) = (p.uuid for p in engine.list_providers() if p.name == host)
    found = {provider: amounts}
    engine.set_allocations(
        [ConsumerAllocations(uuid, found, "p", "u", generation=None)]
    )


def settled(engine: Gantt, uuid: str) -> ShadowRecord:
    until(lambda: len(engine.shadow_records(instance_uuid=uuid)) == 1)
    (found,) = engine.shadow_records(instance_uuid=uuid)
    return found


def new() -> str:
    return str(uuids.uuid4())


def test_the_same_host(engine: Gantt) -> None:
    report(engine, "big", memory_mb=16384)
    report(engine, "small")
    uuid = new()
    observe(engine, uuid)
    claim(engine, uuid, "big")
    found = settled(engine, uuid)
    assert (found.verdict, found.host, found.gantt_host) == ("same", "big", "big")
    assert [one.host for one in found.ranked] == ["big", "small"]
    assert found.rank == 1
    assert found.learnt_from == "allocations"
    assert found.claimed_at is not None
    assert found.claimed_at >= found.asked_at
