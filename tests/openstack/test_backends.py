"""``gantt scheduler`` in several processes, on database servers and on a Placement.

A fleet is filled from many threads: exactly what fits is placed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from nova.scheduler.rpcapi import SchedulerAPI

from gantt.connection import connect, open_gantt
from gantt.model.commands import Inventory
from gantt.store import schema
from tests.brokers import Rabbitmq
from tests.databases import Databases
from tests.elsewhere import Elsewhere, elsewhere, options
from tests.kinds import SERVER_KINDS
from tests.openstack import fleet
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import WARNED_BY_NOVA
from tests.openstack.processes import Scheduler, scheduler

HOSTS = ("a", "b", "c")
EACH = 12
FITS = EACH * len(HOSTS)

pytestmark = [
    pytest.mark.server("rabbitmq"),
    WARNED_BY_NOVA,
]


class Fill:
    """As many calls as fit, and ``more``, from several threads: what became of each."""

    def __init__(self, api: SchedulerAPI, more: int = 8, threads: int = 6) -> None:
        self._api = api
        self.placed: dict[str, str] = {}
        with ThreadPoolExecutor(threads) as pool:
            self.outcomes = Counter(pool.map(self._ask, instances(FITS + more)))

    def _ask(self, uuid: str) -> str:
        try:
            ((chosen, *_),) = self._api.select_destinations(
                context(), spec(), [uuid], True, True
            )
        except Exception as error:
            return type(error).__name__.removesuffix("_Remote")
        self.placed[uuid] = chosen.service_host
        return "placed"


def filled(folder: Path, bus: str, books: str, more: str = "") -> Fill:
    """By two schedulers of three workers together, which all took part."""
    with ExitStack() as stack:
        api = stack.enter_context(conductor(bus))
        running = [
            stack.enter_context(
                scheduler(folder, bus, books, host=host, workers=count, more=more)
            )
            for host, count in (("one", 2), ("two", 1))
        ]
        found = Fill(api)
        assert [one.stop() for one in running] == [0, 0]
        assert sum(calls_of(running)) == FITS + 8
        assert all(calls_of(running))
    assert found.outcomes == {"placed": FITS, "NoValidHost": 8}
    assert Counter(found.placed.values()) == dict.fromkeys(HOSTS, EACH)
    return found


def calls_of(running: Sequence[Scheduler]) -> list[int]:
    """How many calls each worker answered."""
    return [
        int(count)
        for one in running
        for count in re.findall(r"Drained .*rpc_calls (\d+)", one.text)
    ]


@pytest.fixture
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Elsewhere]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with elsewhere(request.param, folder) as found:
        yield found


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_workers_fill_a_fleet_on_one_database(
    kind: str, tmp_path: Path, rabbitmq: Rabbitmq, databases: Databases
) -> None:
    with databases.database(kind) as books:
        with closing(connect(books, create=True)) as gantt:
            fleet.add_hosts(gantt, *HOSTS, vcpus=EACH)
        found = filled(tmp_path, rabbitmq.url, books)
        with closing(connect(books)) as gantt:
            for uuid, host in found.placed.items():
                view = gantt.get_allocations(uuid)
                assert view is not None
                assert list(view.allocations) == [fleet.uuid_of(host)]
            assert gantt.verify().problems == ()


@pytest.mark.parametrize("there", ["gantt", "upstream"], indirect=True)
def test_workers_fill_a_fleet_of_a_remote_placement(
    tmp_path: Path, rabbitmq: Rabbitmq, there: Elsewhere
) -> None:
    books = f"sqlite:///{tmp_path / 'books.db'}"
    schema.sync(books)
    for host in HOSTS:
        there.providers[host] = uuid = fleet.uuid_of(host)
        there.books.create_provider(host, uuid=uuid)
        amounts = {"VCPU": EACH, "MEMORY_MB": 512 * EACH, "DISK_GB": 10 * EACH}
        there.books.set_inventories(
            uuid, {name: Inventory(amount) for name, amount in amounts.items()}
        )
    with closing(open_gantt(books, options(there.url))) as gantt:
        fleet.add_hosts(gantt, *HOSTS, vcpus=EACH)
    more = f"[scheduler]\nplacement = {there.url}\n"
    found = filled(tmp_path, rabbitmq.url, books, more)
    assert there.used() == FITS
    assert all(there.of(uuid) for uuid in found.placed)
    with closing(open_gantt(books, options(there.url))) as gantt:
        assert gantt.list_providers() == ()
        assert gantt.verify().problems == ()
