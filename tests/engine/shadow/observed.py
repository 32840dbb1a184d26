"""Hosts, notifications of Nova and its claims, for tests of the shadow."""

from __future__ import annotations

import time
import uuid as uuids
from typing import Any

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions, ShadowOptions
from gantt.model.commands import ConsumerAllocations
from gantt.model.shadow import Phase, ShadowEvent, ShadowRecord
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests.engine.test_scheduling import SMALL
from tests.waiting import until

AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
QUICK = ShadowOptions(shadow_settle_s=0.2)


def opened(url: str, shadow: ShadowOptions = QUICK, **scheduler: Any) -> Gantt:
    """``scheduler``: options of it."""
    store, wanted = StoreOptions(create=True), SchedulerOptions(**scheduler)
    return open_gantt(url, EngineOptions(shadow=shadow, store=store, scheduler=wanted))


def spec(uuid: str, **fields: Any) -> RequestSpec:
    known: dict[str, Any] = {"flavor": SMALL, "project_id": "p", "user_id": "u"}
    return RequestSpec(instance_uuid=uuid, **{**known, **fields})


def observe(
    engine: Gantt,
    uuid: str,
    phase: Phase = "start",
    at: int | None = None,
    request: str = "",
    **fields: Any,
) -> None:
    """A notification of Nova about ``uuid``."""
    name = request or f"req-{uuid[:8]}"
    engine.shadow_event(ShadowEvent(spec(uuid, **fields), phase, name, at))


def claim(engine: Gantt, uuid: str, *hosts: str, generation: int | None = None) -> None:
    """What Nova's scheduler writes to Placement."""
    named = {one.name: one.uuid for one in engine.list_providers()}
    found = {named[host]: AMOUNTS for host in hosts}
    engine.set_allocations(
        [ConsumerAllocations(uuid, found, "p", "u", generation=generation)]
    )


def settled(engine: Gantt, uuid: str) -> ShadowRecord:
    until(lambda: len(engine.shadow_records(instance_uuid=uuid)) == 1)
    (found,) = engine.shadow_records(instance_uuid=uuid)
    return found


def new() -> str:
    return str(uuids.uuid4())


def now() -> int:
    return time.time_ns() // 1000
