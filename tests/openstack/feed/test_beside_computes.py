"""The feed beside computes that write their own providers to the same books.

Each compute knows the generations that its own writes made and reads no other: if
anything else raises one, its next PUT is refused, as that of Nova's would be.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

import gantt
from gantt.client.remote import RemoteGantt
from gantt.connection import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.protocol import GanttProtocol
from gantt.scheduler.options import SchedulerOptions
from gantt.store import schema
from tests import inprocess
from tests.databases import Databases
from tests.kinds import KINDS
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase
from tests.waiting import until

COMPUTES, ROUNDS = 4, 12
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "COMPUTE_STATUS_DISABLED")
# As 'gantt scheduler' and docs/how-to/feed.md have them.
FED = SchedulerOptions(reports_write_books=False, requires_service=True)


class Compute:
    """What a nova-compute writes: its rows in the cell, and its provider, with
    dedicated CPUs and now and then shared ones."""

    def __init__(self, number: int, cell: CellDatabase, books: GanttProtocol) -> None:
        self.name, self.cell, self.books = f"h{number}", cell, books
        self.rng = random.Random(number)
        self.uuid = str(uuid4())
        self.service = cell.service(self.name)
        self.node = cell.node(self.name, uuid=self.uuid)
        self.generation = books.create_provider(self.name, uuid=self.uuid).generation
        self.said: tuple[dict[str, Inventory], set[str], set[str]] = {}, set(), set()
        self.consumers: set[str] = set()

    def run(self) -> None:
        """So many updates of its resources, a boot after each."""
        for number in range(ROUNDS):
            self._update_rows(number)
            self._put(number)
            self._boot()
            time.sleep(0.02)  # the feed reads meanwhile

    def _update_rows(self, number: int) -> None:
        cell = self.cell
        cell.change("compute_nodes", self.node, vcpus=16 + number, memory_mb=9_000)
        cell.change("services", self.service, disabled=number % 3 == 0)

    def _put(self, number: int) -> None:
        inventories = {
            "PCPU": Inventory(16 + number),
            "MEMORY_MB": Inventory(9_000 + number, reserved=512),
            **({"VCPU": Inventory(4, allocation_ratio=4.0)} if number % 2 else {}),
        }
        traits = set(self.rng.sample(TRAITS, 2))
        aggregates = {str(uuid4())}
        books, uuid = self.books, self.uuid
        for put in (
            partial(books.set_inventories, uuid, inventories),
            partial(books.set_traits, uuid, traits),
            partial(books.set_aggregates, uuid, aggregates),
        ):
            self.generation = put(generation=self.generation).generation
        self.said = inventories, traits, aggregates

    def _boot(self) -> None:
        _, consumer = self.cell.instance(self.name)
        amounts = {self.uuid: {"PCPU": 1, "MEMORY_MB": 64}}
        one = ConsumerAllocations(consumer, amounts, "p", "u", generation=None)
        self.books.set_allocations([one])
        self.consumers.add(consumer)
        self.generation += 1  # of a provider that is newly allocated from

    def check(self) -> None:
        """Everything is as it was said last."""
        inventories, traits, aggregates = self.said
        found = self.books.get_inventories(self.uuid)
        assert found.inventories == inventories
        assert set(self.books.get_traits(self.uuid).traits) == traits
        assert set(self.books.get_aggregates(self.uuid).aggregates) == aggregates
        on = self.books.get_provider_allocations(self.uuid)
        assert set(on.allocations) == self.consumers
        assert found.generation == self.generation


@contextmanager
def placement(folder: Path, books: str) -> Iterator[RemoteGantt]:
    """The Placement that computes write to."""
    with inprocess.service(folder, books) as url:
        found = gantt.connect(url)
        assert isinstance(found, RemoteGantt)
        with closing(found):
            yield found


@pytest.mark.parametrize("way", ["database", "service"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_put_of_a_compute_is_refused(
    kind: str, way: str, cloud: Cloud, tmp_path: Path, databases: Databases
) -> None:
    """``way``: the feed is beside the service on its database, as in 'gantt scheduler',
    or speaks to it, as 'gantt feed' does; there with the service's defaults."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'books.db'}"
        if kind != "sqlite":
            url = stack.enter_context(databases.database(kind))
        else:
            schema.sync(url)
        books = stack.enter_context(placement(tmp_path, url))
        fed: GanttProtocol = books
        if way == "database":
            fed = open_gantt(url, EngineOptions(scheduler=FED))
            stack.callback(fed.close)
        cell = cloud.cell("one")
        computes = [Compute(number, cell, books) for number in range(COMPUTES)]
        feed = cloud.idle_feed(fed)  # type: ignore[arg-type]
        feed.start()
        with ThreadPoolExecutor(COMPUTES) as pool:
            running = [pool.submit(one.run) for one in computes]
        for one in running:
            one.result()
        until(lambda: all(len(one.instances) == ROUNDS for one in books.list_hosts()))
        for compute in computes:
            compute.check()
        feed.stop()
        counts = feed.counts()
        assert counts["failures"] == counts["cell_failures"] == counts["refused"] == 0
        assert {one.provider_uuid for one in books.list_hosts()} == {
            one.uuid for one in computes
        }
        assert {one.name for one in books.list_providers()} == {
            one.name for one in computes
        }


def test_what_the_feed_deletes_stays_in_the_books(cloud: Cloud, tmp_path: Path) -> None:
    """Aggregates, nodes and services that are gone; at once, or while it was away."""
    cell = cloud.cell("one")
    with placement(tmp_path, "memory://") as books:
        first, second = (Compute(number, cell, books) for number in range(2))
        for compute in (first, second):
            compute._put(1)
        keys = []
        for compute in (first, second):
            key, uuid = cloud.api.aggregate(f"of {compute.name}", [compute.name])
            keys.append(key)
            compute.said[2].add(uuid)
            compute.generation = books.set_aggregates(
                compute.uuid, compute.said[2], generation=compute.generation
            ).generation
        feed = cloud.idle_feed(books)  # type: ignore[arg-type]
        feed.start()
        assert len(books.list_host_aggregates()) == 2
        cloud.api.remove("aggregate_hosts", 1)
        cloud.api.remove("aggregates", keys[0])
        until(lambda: len(books.list_host_aggregates()) == 1)
        cell.soft_delete("compute_nodes", first.node)
        cell.soft_delete("services", first.service)
        until(lambda: [one.host for one in books.list_hosts()] == [second.name])
        feed.stop()
        cloud.api.remove("aggregate_hosts", 2)
        cloud.api.remove("aggregates", keys[1])
        cloud.idle_feed(books).start()  # type: ignore[arg-type]
        until(lambda: books.list_host_aggregates() == ())
        for compute in (first, second):
            compute.check()
            compute._put(2)
