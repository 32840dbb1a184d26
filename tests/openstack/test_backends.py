"""``gantt scheduler`` in several processes, on database servers and on a Placement.

A fleet is filled from many threads: exactly what fits is placed. Then on a message bus
as deployment tools set it up.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from nova.scheduler.rpcapi import SchedulerAPI
from oslo_messaging._drivers import impl_rabbit

from gantt.connection import connect, open_gantt
from gantt.model.commands import Inventory
from gantt.store import schema
from tests.brokers import Rabbitmq, start_rabbitmq
from tests.databases import Databases
from tests.elsewhere import Elsewhere, elsewhere, options
from tests.kinds import SERVER_KINDS
from tests.openstack import fleet
from tests.openstack.conductor import CONF, conductor, context, instances, spec
from tests.openstack.marks import ON_RABBITMQ
from tests.openstack.processes import Scheduler, new_books, scheduler

HOSTS = ("a", "b", "c")
EACH = 12
FITS = EACH * len(HOSTS)

pytestmark = ON_RABBITMQ


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


GROUP = "oslo_messaging_rabbit"
QUORUM = {"rabbit_quorum_queue": "true", "rabbit_transient_quorum_queue": "true"}
MANAGER = {"use_queue_manager": "true"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Rabbitmq]:
    """Of this module alone: exchanges of others are not durable."""
    with start_rabbitmq(has_tls=True) as found:
        yield found


def said(broker: Rabbitmq, locks: Path | None, **options: str) -> str:
    """The end of a nova.conf."""
    tls = {"ssl": "true", "ssl_ca_file": str(broker.authority)}
    lines = [f"[{GROUP}]", *(f"{name} = {v}" for name, v in (tls | options).items())]
    if locks is not None:
        lines += ["[DEFAULT]", f"state_path = {locks.parent}"]
        lines += ["[oslo_concurrency]", f"lock_path = $state_path/{locks.name}"]
    return "\n".join(lines) + "\n"


@contextmanager
def set_up(broker: Rabbitmq, **options: str) -> Iterator[str]:
    """The conductor has these options, too; the URL of the bus."""
    CONF.register_opts(impl_rabbit.rabbit_opts, GROUP)
    given = {"ssl": "true", "ssl_ca_file": str(broker.authority), **options}
    for name, value in given.items():
        typed = value == "true" if value in ("true", "false") else value
        CONF.set_override(name, typed, GROUP)
    try:
        yield broker.url
    finally:
        for name in given:
            CONF.clear_override(name, GROUP)


@pytest.mark.parametrize(
    "options",
    [{}, QUORUM, MANAGER, QUORUM | MANAGER],
    ids=["tls", "quorum queues", "queue manager", "all"],
)
def test_calls_are_answered(
    tmp_path: Path, broker: Rabbitmq, options: dict[str, str]
) -> None:
    books = new_books(tmp_path, 2)
    virtual_host = "-".join(["v", *options]).replace("_", "-")
    broker.control(f"rabbitmqctl add_vhost {virtual_host}")
    broker.control(
        f"rabbitmqctl set_permissions -p {virtual_host} guest '.*' '.*' '.*'"
    )
    own = {name: value for name, value in options.items() if name not in MANAGER}
    with set_up(broker, **own) as url:
        url += virtual_host
        more = said(broker, tmp_path / "locks", **options)
        with (
            conductor(url) as api,
            scheduler(tmp_path, url, books, workers=2, more=more) as running,
        ):
            (uuid,) = instances()
            ((first, *_),) = api.select_destinations(
                context(), spec(), [uuid], True, True
            )
            assert first.service_host in ("host0", "host1")
            assert "Traceback" not in running.text
            # As with any other bus, a stop loses nothing.
            assert running.stop() == 0
    with closing(connect(books)) as found:
        booked = found.get_allocations(uuid)
        assert booked is not None and booked.allocations


def test_the_listener_of_a_shadow_listens(tmp_path: Path, broker: Rabbitmq) -> None:
    conf = tmp_path / "nova.conf"
    conf.write_text(
        f"[DEFAULT]\nhost = one\ntransport_url = {broker.url}\n"
        + said(broker, tmp_path / "locks", **QUORUM, **MANAGER)
    )
    nowhere = "http://127.0.0.1:1"  # nothing is told before a notification comes
    command = ["shadow", "listen", "--config-file", str(conf), "--url", nowhere]
    running = Scheduler.running(command, tmp_path / "log")
    try:
        running.wait_for("Listening for scheduler.select_destinations")
        assert "Traceback" not in running.text
        assert running.stop() == 0
    finally:
        running.kill()


def test_a_manager_without_locks_is_refused_with_what_to_set(
    tmp_path: Path, broker: Rabbitmq
) -> None:
    books = new_books(tmp_path, 1)
    conf = tmp_path / "nova.conf"
    conf.write_text(
        f"[DEFAULT]\nhost = one\ntransport_url = {broker.url}\n"
        + said(broker, None, **MANAGER)
    )
    command = ["scheduler", "--config-file", str(conf), "--database", books]
    running = Scheduler.running(command, tmp_path / "log")
    try:
        running.wait_for("lock_path in [oslo_concurrency] is not set: name a directory")
        assert "Traceback" not in running.text
    finally:
        running.send(signal.SIGTERM)
        running.kill()
