"""The last CPUs and devices, wanted by eight clients of several worker processes.

No CPU and no device is promised twice, at any moment; in the end exactly what fits is
held.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gantt.connection import connect
from gantt.errors import NoValidHost
from gantt.model.hosts import HostStats, Service
from gantt.model.selection import Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.databases import Databases
from tests.kinds import KINDS
from tests.live import start
from tests.scheduler.small_cells import cell_of

CLIENTS = 8
HOSTS = ("h1", "h2", "obeys")
# Cells of four CPUs carry two instances each, and three devices are free.
EACH = 3
NIC = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}
SPEC = RequestSpec(
    Flavor(vcpus=2, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"}),
    pci_requests=({"count": 1, "request_id": "nic", "spec": [NIC]},),
)
OPTIONS = """
[filter_scheduler]
enabled_filters = ComputeFilter,NUMATopologyFilter,PciPassthroughFilter
host_subset_size = 3
"""


def cell(number: int) -> dict[str, Any]:
    return cell_of(number, range(4 * number, 4 * number + 4))


def report_of(host: str) -> HostStats:
    pool: dict[str, Any] = {**NIC, "numa_node": None, "count": EACH}
    if host == "obeys":
        pool["devices"] = [{"address": f"0000:81:00.{n}"} for n in range(EACH)]
    return HostStats(
        vcpus=64,
        memory_mb=65_536,
        local_gb=100,
        numa_topology={"cells": [cell(0), cell(1)]},
        pci_stats=[pool],
        obeys_claims=host == "obeys",
    )


class Held:
    """What clients were told to hold; at no moment more than fits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.by_instance: dict[str, Selection] = {}
        self.wrong: list[str] = []

    def take(self, uuid: str, mine: Selection) -> None:
        with self._lock:
            self.by_instance[uuid] = mine
            self._look()

    def give_back(self, uuid: str) -> None:
        """Before the service is told."""
        with self._lock:
            del self.by_instance[uuid]

    def _look(self) -> None:
        counts = Counter(one.service_host for one in self.by_instance.values())
        used: Counter[object] = Counter()
        for one in self.by_instance.values():
            if one.place is not None:
                used.update(cpu for at in one.place.cells for _, cpu in at.pinning)
                used.update(at for pool in one.place.devices for at in pool.addresses)
        if max(counts.values()) > EACH or max(used.values(), default=1) > 1:
            self.wrong.append(f"{counts}: {used}")


@pytest.fixture(params=KINDS)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, databases: Databases
) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/books.db"
    else:
        with databases.database(str(request.param)) as url:
            yield url


def fight(url: str, number: int, held: Held) -> int:
    """Claim and give back as one client; how often there was nothing left."""
    rng, refused = random.Random(number), 0
    with closing(connect(url)) as gantt:
        for _ in range(12):
            uuid = str(UUID(int=rng.getrandbits(128), version=4))
            request = ScheduleRequest(SPEC, (uuid,), return_alternates=False)
            try:
                ((mine,),) = gantt.schedule(request)
            except NoValidHost:
                refused += 1
                continue
            held.take(uuid, mine)
            if rng.random() < 0.7:
                held.give_back(uuid)
                assert mine.claim is not None
                gantt.release_claim(mine.claim)
    return refused


def test_no_cpu_and_no_device_is_promised_twice(database: str, tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(OPTIONS)
    options = ("--auth", "noauth2", "--workers", "3", "--config-file", str(file))
    live = start(database, tmp_path / "log", options=options)
    try:
        with closing(connect(live.url)) as gantt:
            for host in HOSTS:
                gantt.update_service(Service(host))
                gantt.update_host(host, host, report_of(host))
        held = Held()
        with ThreadPoolExecutor(CLIENTS) as pool:
            fights = [
                pool.submit(fight, live.url, number, held) for number in range(CLIENTS)
            ]
            refused = sum(one.result() for one in fights)
        with closing(connect(live.url)) as gantt:
            while True:
                uuid = str(UUID(int=len(held.by_instance) + 1, version=4))
                try:
                    ((mine, *_),) = gantt.schedule(ScheduleRequest(SPEC, (uuid,)))
                except NoValidHost:
                    break
                held.take(uuid, mine)
    finally:
        assert live.stop() == 0
    assert held.wrong == []
    assert refused, "nothing was fought over"
    places = Counter(one.service_host for one in held.by_instance.values())
    assert places == dict.fromkeys(HOSTS, EACH)
    with closing(connect(database)) as gantt:
        assert gantt.verify().problems == ()
