"""nova-scheduler and ``gantt scheduler`` on one cloud of 1,000 hosts, in one run.

``scripts/cloud --compare``. Hosts beyond the computes that run are rows: in the cell
and the API database, with a provider each. They are smaller than the real ones, so that
what is booted to be measured goes to hosts that exist.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model.answers import Inventory
from tests.cloud.cloud import SIZES, Cloud
from tests.cloud.schedulers import Replaced, Setup, Upstream
from tests.cloud.settings import write
from tests.cloud.tenant import SMALL, Tenant
from tests.openstack import conductor

HEARTBEAT_S = 5.0
BOOTS = 24
CLIENTS = 8
WARM_UP = 3
THEIR_CALLS = 20
OUR_CALLS = 500
PINGS = 100
CALL_S = 120
INVENTORY = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 40}
FREE = {
    "vcpus": 4,
    "vcpus_used": 0,
    "memory_mb": 4096,
    "memory_mb_used": 0,
    "free_ram_mb": 4096,
    "local_gb": 40,
    "local_gb_used": 0,
    "free_disk_gb": 40,
    # As computes with the fake driver have it once they run.
    "disk_available_least": 0,
    "cpu_allocation_ratio": 1.0,
}


class Rows:
    """Hosts without a process."""

    def __init__(self, cloud: Cloud, books: Gantt) -> None:
        self._cloud, self._books = cloud, books
        self._cell = cloud.settings.databases["nova_cell1"]
        self._api = cloud.settings.databases["nova_api"]

    def add(self, count: int) -> None:
        """``count`` of them, like host1 but for names and sizes."""
        nodes = {f"row{number:04d}": str(uuids.uuid4()) for number in range(count)}
        self._copy(
            self._cell,
            "services",
            [{"host": host, "uuid": str(uuids.uuid4())} for host in nodes],
        )
        self._copy(
            self._cell,
            "compute_nodes",
            [
                {"host": host, "hypervisor_hostname": host, "uuid": uuid, **FREE}
                for host, uuid in nodes.items()
            ],
        )
        self._copy(self._api, "host_mappings", [{"host": host} for host in nodes])
        for host, uuid in nodes.items():
            self._books.create_provider(host, uuid=uuid)
            self._books.set_inventories(
                uuid, {name: Inventory(total) for name, total in INVENTORY.items()}
            )
            # As computes mark theirs: schedulers ask for no others.
            self._books.set_traits(uuid, {"OWNER_NOVA"})

    def _copy(self, url: str, table: str, rows: Sequence[dict[str, object]]) -> None:
        """Rows of ``table`` like that of host1, with these values."""
        execute = self._cloud.database.execute
        names = [row[0] for row in execute(f"SHOW COLUMNS FROM {table}", url=url)]
        names.remove("id")
        listed = ", ".join(f"`{name}`" for name in names)
        statements = []
        for row in rows:
            taken = [repr(row[name]) if name in row else f"`{name}`" for name in names]
            statements.append(
                f"INSERT INTO {table} ({listed}) SELECT {', '.join(taken)} "
                f"FROM {table} WHERE host = 'host1'"
            )
        execute(*statements, url=url)

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Their services have heartbeats meanwhile."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(HEARTBEAT_S):
                self._beat()

        self._beat()
        thread = threading.Thread(target=beat)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _beat(self) -> None:
        self._cloud.database.execute(
            "UPDATE services SET last_seen_up = UTC_TIMESTAMP(), "
            "updated_at = UTC_TIMESTAMP() WHERE host LIKE 'row%%'",
            url=self._cell,
        )


def boots(tenant: Tenant) -> float:
    """Servers per second, from the first request until all run."""
    tenant.flavor(SMALL)
    since = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        servers = list(pool.map(lambda _: tenant.ask(SMALL), range(BOOTS)))
    tenant.running(servers)
    took = time.monotonic() - since
    tenant.delete(*servers)
    return BOOTS / took


def calls(cloud: Cloud, books: Gantt, count: int) -> list[float]:
    """Milliseconds of each of ``count`` calls of select_destinations, one after
    another; what they claimed is given back."""
    found = []
    instances = conductor.instances(count)
    with conductor.conductor(cloud.broker.url, timeout_s=CALL_S) as scheduler:
        for instance in instances:
            spec = conductor.spec(instance_uuid=instance, requested_resources=[])
            since = time.perf_counter()
            scheduler.select_destinations(
                conductor.context(),
                spec,
                [instance],
                return_objects=True,
                return_alternates=True,
            )
            found.append(1000 * (time.perf_counter() - since))
    for instance in instances:
        books.delete_allocations(instance)
    return found


def ping(cloud: Cloud) -> float:
    """The median in ms of calls that do nothing."""
    found = []
    with conductor.conductor(cloud.broker.url):
        for _ in range(PINGS):
            since = time.perf_counter()
            conductor.ping("")
            found.append(1000 * (time.perf_counter() - since))
    return statistics.median(found)


def measure(
    setup: Setup, cloud: Cloud, tenant: Tenant, books: Gantt, count: int
) -> float:
    """Print the figures of one scheduler; the median of its calls in ms."""
    setup.start()
    try:
        # Until it knows all hosts; its caches are warm then.
        calls(cloud, books, WARM_UP)
        per_second = boots(tenant)
        took = sorted(calls(cloud, books, count))
        empty = ping(cloud)
    finally:
        setup.stop()
    p50, p99 = statistics.median(took), took[int(0.99 * len(took))]
    print(
        f"{setup.name}: {per_second:.2f} boots/s end to end ({BOOTS} boots); "
        f"select_destinations over RPC: p50 {p50:.2f} ms, p99 {p99:.2f} ms "
        f"({count} calls), of an empty call p50 {empty:.2f} ms; "
        f"load average {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return p50


def main() -> None:
    """Start the cloud, add rows, and measure both schedulers. Logs of a run that
    fails are kept."""
    parser = argparse.ArgumentParser(
        prog="scripts/cloud --compare", description=__doc__
    )
    parser.add_argument("--hosts", type=int, default=1000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gantt-cloud-"))
    print(f"Logs are in {folder}", flush=True)
    cloud = Cloud(folder)
    try:
        _compare(cloud, options.hosts)
    finally:
        cloud.close()
    shutil.rmtree(folder)


def _compare(cloud: Cloud, hosts: int) -> None:
    settings = cloud.settings.nova()
    quiet: dict[str, Mapping[str, object]] = {
        # nova-scheduler may need longer for eight requests at once than the heartbeats
        # that it read at their begin are good for.
        "DEFAULT": {**settings["DEFAULT"], "service_down_time": "300"},
        "notifications": {"notification_format": "unversioned"},
        "oslo_messaging_notifications": {"driver": "noop"},
    }
    write(cloud.files["nova"], {**settings, **quiet})
    with open_gantt(cloud.settings.databases["placement"]) as books:
        rows = Rows(cloud, books)
        rows.add(hosts - len(SIZES))
        tenant = Tenant(cloud.connection)
        with rows.alive():
            theirs = measure(Upstream(cloud), cloud, tenant, books, THEIR_CALLS)
            ours = measure(Replaced(cloud), cloud, tenant, books, OUR_CALLS)
    print(f"{hosts} hosts: nova-scheduler takes {theirs / ours:.0f} times as long")


if __name__ == "__main__":
    main()
