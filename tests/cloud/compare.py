"""nova-scheduler and ``gantt scheduler`` on one cloud of 1,000 hosts, in one run.

``scripts/cloud --compare [--out FILE]``. Hosts beyond the computes that run are rows:
in the cell and the API database, with a provider each. They are smaller than the real
ones, so that what is booted to be measured goes to hosts that exist.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import threading
import time
import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.report import Row, say, tell
from gantt.bench.figures import duration
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
MOST_S = 0.005
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


class Figures(NamedTuple):
    """Of one scheduler: boots in a second; seconds of each call, from the quickest to
    the slowest, and of an empty one."""

    boots: float
    calls: list[float]
    empty: float

    @property
    def median(self) -> float:
        """Of the calls."""
        return statistics.median(self.calls)

    @property
    def p99(self) -> str:
        """Of the calls, and of how many."""
        count = len(self.calls)
        return f"{duration(self.calls[int(0.99 * count)])} (of {count})"


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
    """Seconds of each of ``count`` calls of select_destinations, one after
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
            found.append(time.perf_counter() - since)
    for instance in instances:
        books.delete_allocations(instance)
    return found


def ping(cloud: Cloud) -> float:
    """The median in seconds of calls that do nothing."""
    found = []
    with conductor.conductor(cloud.broker.url):
        for _ in range(PINGS):
            since = time.perf_counter()
            conductor.ping("")
            found.append(time.perf_counter() - since)
    return statistics.median(found)


def measure(
    setup: Setup, cloud: Cloud, tenant: Tenant, books: Gantt, count: int
) -> Figures:
    """The figures of one scheduler, of ``count`` calls."""
    setup.start()
    try:
        # Until it knows all hosts; its caches are warm then.
        calls(cloud, books, WARM_UP)
        per_second = boots(tenant)
        took = sorted(calls(cloud, books, count))
        found = Figures(per_second, took, ping(cloud))
    finally:
        setup.stop()
    say(
        f"{setup.name}: {found.boots:.2f} boots/s, select_destinations over RPC: "
        f"p50 {duration(found.median)}, p99 {found.p99}"
    )
    return found


def main() -> None:
    """Start the cloud, add rows, measure both schedulers, print and keep it."""
    parser = argparse.ArgumentParser(
        prog="scripts/cloud --compare", description=__doc__
    )
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    tell(parser.prog, partial(compare, options.hosts), options.out)


def compare(hosts: int) -> list[Row]:
    """On a new cloud with so many. Logs of a run that fails are kept."""
    folder = Path(tempfile.mkdtemp(prefix="gantt-cloud-"))
    say(f"Logs are in {folder}")
    cloud = Cloud(folder, has_tls=False)
    try:
        theirs, ours = _beside_each_other(cloud, hosts)
    finally:
        cloud.close()
    shutil.rmtree(folder)
    return rows_of(hosts, theirs, ours)


def _beside_each_other(cloud: Cloud, hosts: int) -> tuple[Figures, Figures]:
    """Of nova-scheduler, and of Gantt."""
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
    return theirs, ours


def rows_of(hosts: int, theirs: Figures, ours: Figures) -> list[Row]:
    """Gantt's beside those of nova-scheduler, against the goal."""
    return [
        Row(
            f"{hosts:,} hosts, `select_destinations` over RPC, p50",
            f"≤ {duration(MOST_S)}",
            duration(ours.median),
            duration(theirs.median),
            f"{theirs.median / ours.median:,.0f}×",
            ours.median <= MOST_S,
        ),
        Row("the same, p99", "", ours.p99, theirs.p99),
        Row("an empty call, p50", "", duration(ours.empty), duration(theirs.empty)),
        Row(
            f"boots, {BOOTS} by {CLIENTS} clients, until all run",
            "",
            f"{ours.boots:.2f}/s",
            f"{theirs.boots:.2f}/s",
            f"{ours.boots / theirs.boots:.1f}×",
        ),
    ]


if __name__ == "__main__":
    main()
