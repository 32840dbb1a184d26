"""The feed beside a private MariaDB: 10,000 computes with 10 instances each.

The tables are those of Nova's models; hosts report as libvirt's driver does. Time of
the process is that of Gantt alone: the database server is another process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import gantt
from bench.report import Row, at_most, say
from bench.timing import seconds
from gantt.conf.feed_settings import FeedOptions
from gantt.engine.gantt import Gantt
from gantt.openstack.feed import Feed
from tests.databases import Databases
from tests.openstack.feed.nova_databases import (
    ApiDatabase,
    CellDatabase,
    new_mariadb,
    node_values,
    now,
    service_values,
)

HOSTS: Final = 10_000
INSTANCES: Final = 10
FULL_S: Final = 20.0
IDLE_SHARE: Final = 0.01
INTERVAL_S: Final = 5.0
IDLE_ROUNDS: Final = 13


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """Full reading, idle rounds, and how soon a changed node is known."""
    hosts = max(10, int(HOSTS * scale))
    with Databases() as servers:
        server = servers.server("mariadb")
        api = ApiDatabase(new_mariadb(server))
        cell = CellDatabase(new_mariadb(server))
        fill(api, cell, hosts)
        for kind in ("memory://", f"sqlite:///{folder}/feed.db"):
            books = gantt.connect(kind, create=kind != "memory://")
            assert isinstance(books, Gantt)
            with books:
                yield from _measured(kind.partition(":")[0], books, api, cell, hosts)
        api.close()
        cell.close()


def _measured(
    kind: str, books: Gantt, api: ApiDatabase, cell: CellDatabase, hosts: int
) -> Iterator[Row]:
    what = f"feed, {hosts:,} computes, books in {kind}"
    # No compute is there to renew its heartbeat.
    options = FeedOptions(
        api_url=api.url, feed_interval=INTERVAL_S, service_down_time=86_400.0
    )
    feed = Feed(options, books)
    full_s = seconds(feed.start)
    assert len(books.list_hosts()) == hosts
    yield at_most(f"{what}: full reading", FULL_S, full_s)
    # What was written while the tables were filled is read again for a while.
    time.sleep(FeedOptions().feed_overlap + 2 * INTERVAL_S)
    before, began = time.process_time(), time.perf_counter()
    time.sleep(IDLE_ROUNDS * INTERVAL_S)
    share = (time.process_time() - before) / (time.perf_counter() - began)
    yield Row(
        f"{what}: idle",
        f"≤ {IDLE_SHARE:.0%} of a core",
        f"{share:.2%}",
        is_met=share <= IDLE_SHARE,
    )
    seen_s = max(_seen_s(books, cell, 1000 + turn) for turn in range(3))
    yield at_most(f"{what}: a changed node is known", INTERVAL_S + 1, seen_s)
    feed.stop()


def _seen_s(books: Gantt, cell: CellDatabase, vcpus: int) -> float:
    """How long until a change of one node is known."""
    began = time.perf_counter()
    cell.change("compute_nodes", 7, vcpus=vcpus)
    while books.list_hosts(host="compute00006")[0].stats["vcpus"] != vcpus:
        time.sleep(0.01)
    return time.perf_counter() - began


def fill(api: ApiDatabase, cell: CellDatabase, hosts: int) -> None:
    say(f"feed: filling databases with {hosts:,} computes")
    api.make_tables(API_TABLES)
    cell.make_tables(CELL_TABLES)
    api.map_cell("one", cell.url)
    names = [f"compute{number:05}" for number in range(hosts)]
    cell.add_all("compute_nodes", ({**node_values(name), **_at()} for name in names))
    cell.add_all("services", ({**service_values(name), **_at()} for name in names))
    cell.add_all(
        "instances",
        (
            {"uuid": str(uuid4()), "host": name, "node": name, "deleted": 0, **_at()}
            for name in names
            for _ in range(INSTANCES)
        ),
    )
    api.add_all(
        "host_mappings", ({"host": name, "cell_id": 1, **_at()} for name in names)
    )


API_TABLES: Final = (
    "cell_mappings host_mappings aggregates aggregate_hosts aggregate_metadata "
    "instance_groups instance_group_policy instance_group_member flavors"
).split()
CELL_TABLES: Final = (
    "services compute_nodes instances instance_system_metadata migrations"
).split()


def _at() -> dict[str, Any]:
    long_ago = now() - timedelta(days=1)
    return {"created_at": long_ago, "updated_at": long_ago}
