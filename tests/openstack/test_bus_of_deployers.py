"""A message bus as deployment tools set it up: queues that are replicated, names of
queues from a manager, TLS. kolla-ansible's nova.conf has all of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from oslo_messaging._drivers import impl_rabbit

from gantt.connection import connect
from tests.brokers import Rabbitmq, start_rabbitmq
from tests.openstack.conductor import CONF, conductor, context, instances, spec
from tests.openstack.marks import WARNED_BY_NOVA
from tests.openstack.processes import Scheduler, new_books, scheduler

pytestmark = [
    pytest.mark.server("rabbitmq"),
    WARNED_BY_NOVA,
]
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
