"""Changes in a real Kafka: once, in order, whatever ends in the middle."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Unavailable
from gantt.model.commands import (
    ConsumerAllocations,
    CreateResourceClass,
    Inventory,
    SyncNames,
)
from gantt.store import StoreOptions, open_store
from gantt.stream.broker_connection import Topic, ensure
from gantt.stream.changes.change_topic import Fenced
from gantt.stream.changes.messages import Begin, End, SnapshotRows, decode
from gantt.stream.changes.publisher_thread import Publishing
from gantt.stream.changes.topic import KafkaChanges
from gantt.stream.options import StreamOptions
from tests.kafka_broker import Kafka, start_kafka
from tests.stream.change_fakes import shown
from tests.stream.change_readers import (
    change_options,
    copy_of,
    kept,
    read_all,
    revisions,
    tables,
)
from tests.waiting import until

pytestmark = pytest.mark.server("kafka")
WAIT_S = 120.0


class Failing(KafkaChanges):
    """Never commits what it has sent."""

    def commit(self, producer: Producer, wait_s: float) -> None:
        assert producer.flush(wait_s) == 0
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Empty books."""
    url = f"sqlite:///{tmp_path / 'books.db'}"
    open_store(url, StoreOptions(create=True)).close()
    return url


@contextlib.contextmanager
def engine(url: str) -> Iterator[Gantt]:
    options = EngineOptions(sweep_s=0.05, leader_silence_s=0.4)
    with Gantt(open_store(url, StoreOptions(lock_timeout_s=20)), options) as books:
        yield books


@contextlib.contextmanager
def publishing(options: StreamOptions, books: Gantt) -> Iterator[Publishing]:
    thread = Publishing(options, books, KafkaChanges(options))
    thread.start()
    try:
        yield thread
    finally:
        thread.close()


def furnish(books: Gantt, hosts: int = 3) -> list[str]:
    """Providers with inventory; their uuids."""
    books.submit(CreateResourceClass("CUSTOM_SLOT"))
    made = [books.create_provider(f"host-{n}").uuid for n in range(hosts)]
    for one in made:
        books.set_inventories(one, {"CUSTOM_SLOT": Inventory(1_000_000)})
    return made


def work(books: Gantt, hosts: list[str], count: int) -> None:
    """``count`` revisions: consumers that come, and half of them go."""
    for number in range(count):
        consumer = str(uuid.uuid4())
        place = hosts[number % len(hosts)]
        allocations = {place: {"CUSTOM_SLOT": 1}}
        one = ConsumerAllocations(consumer, allocations, "project", "user", None)
        books.set_allocations([one])
        if number % 2:
            books.delete_allocations(consumer)


def assert_published(options: StreamOptions, books: Gantt) -> list[bytes]:
    """Each revision is there once, in order, and the topic alone leads to the books;
    the messages."""
    values = read_all(options, until=books.revision)
    found = revisions(values)
    assert found == list(range(1, books.revision + 1))
    assert tables(copy_of(values).tables) == kept(books)
    return values


def test_the_topic_alone_leads_to_the_books(kafka: Kafka, url: str) -> None:
    options = change_options(kafka)
    with engine(url) as books:
        hosts = furnish(books)
        with publishing(options, books) as thread:
            work(books, hosts, 60)
            values = assert_published(options, books)
            until(
                lambda: thread.counts()["stream_changes_lag"] == 0,
                WAIT_S,
                thread.counts,
            )
            assert thread.counts()["stream_changes"] == books.revision
            assert thread.notice() == ""
        told = books.events(0).events[0]
        first = msgspec.json.decode(values[0])
        told_fields = shown(told)
        assert isinstance(told_fields, dict)
        assert {name: first[name] for name in told_fields} == told_fields


def test_a_process_that_does_not_lead_publishes_nothing(kafka: Kafka, url: str) -> None:
    options = change_options(kafka)
    with engine(url) as leading, engine(url) as other:
        until(lambda: leading.leads or other.leads, WAIT_S, lambda: "no leader")
        if other.leads:
            leading, other = other, leading
        with publishing(options, other) as idle, publishing(options, leading):
            work(other, furnish(other), 5)
            assert_published(options, other)
            assert idle.counts()["stream_changes"] == 0
            assert idle.counts()["stream_changes_lag"] == 0


@pytest.mark.parametrize("transaction", [1, 3])
def test_a_leader_killed_within_a_transaction(
    kafka: Kafka, url: str, transaction: int
) -> None:
    options = change_options(kafka, changes_batch=7)
    with engine(url) as books:
        hosts = furnish(books)
        work(books, hosts, 30)
    words = (url, kafka.servers, options.changes_topic, "7", str(transaction))
    command = [sys.executable, "-m", "tests.stream.dying_publisher", *words]
    dying = subprocess.run(command, timeout=WAIT_S, check=False)
    assert dying.returncode == -signal.SIGKILL
    # What was not committed is in the topic, and will never be seen.
    unseen = revisions(read_all(options, isolation="uncommitted"))
    assert unseen == list(range(1, 7 * transaction + 1))
    with engine(url) as books, publishing(options, books):
        work(books, hosts, 10)
        assert_published(options, books)
    everything = revisions(read_all(options, isolation="uncommitted"))
    assert everything[: len(unseen)] == unseen
    assert everything[len(unseen) :] == list(
        range(7 * (transaction - 1) + 1, everything[-1] + 1)
    )


class Insistent:
    """An engine that believes that it leads, whatever others do."""

    leads = True

    def __init__(self, books: Gantt) -> None:
        self._books = books

    def __getattr__(self, name: str) -> object:
        return getattr(self._books, name)


def test_of_two_leaders_one_is_fenced(kafka: Kafka, url: str) -> None:
    options = change_options(kafka)
    with engine(url) as books:
        hosts = furnish(books)
        first, second = Insistent(books), Insistent(books)
        with publishing(options, first) as one:  # type: ignore[arg-type]
            work(books, hosts, 10)
            read_all(options, until=books.revision)
            with publishing(options, second) as two:  # type: ignore[arg-type]
                until(
                    lambda: two.counts()["stream_changes_lag"] == 0, WAIT_S, two.counts
                )
                deadline = time.monotonic() + WAIT_S
                while not one.counts()["stream_changes_fenced"]:
                    work(books, hosts, 4)
                    assert time.monotonic() < deadline
                work(books, hosts, 20)
                assert_published(options, books)


def test_a_fenced_producer_can_publish_nothing(kafka: Kafka, url: str) -> None:
    options = change_options(kafka)
    first, second = KafkaChanges(options), KafkaChanges(options)
    books = str(uuid.uuid4())
    assert first.open(books) is None
    first.publish([b"one"])
    assert second.open(books) == b"one"
    with pytest.raises(Fenced):
        first.publish([b"never"])
    second.publish([b"two"])
    assert first.open(books) == b"two"
    other = KafkaChanges(options)
    assert other.open(str(uuid.uuid4())) == b"two"
    first.publish([b"three"])
    assert read_all(options) == [b"one", b"two", b"three"]
    for producer in (first, second, other):
        producer.close()


def test_the_last_message_is_found_behind_many_that_failed(kafka: Kafka) -> None:
    options = change_options(kafka)
    books = str(uuid.uuid4())
    changes = KafkaChanges(options)
    assert changes.open(books) is None
    changes.publish([b"kept"])
    for _ in range(3):
        failing = Failing(options)
        assert failing.open(books) == b"kept"
        with pytest.raises(Unavailable):
            failing.publish([b"lost"] * 60)
        failing.close()
    assert changes.open(books) == b"kept"
    changes.close()


def test_a_broker_that_dies_holds_up_nothing(url: str) -> None:
    with start_kafka() as broker, engine(url) as books:
        options = change_options(broker)
        hosts = furnish(books)
        with publishing(options, books) as thread:
            work(books, hosts, 20)
            read_all(options, until=books.revision)
            broker.kill()
            work(books, hosts, 20)  # the books do not wait
            until(
                lambda: thread.counts()["stream_changes_failures"] > 0,
                WAIT_S,
                thread.counts,
            )
            behind = thread.counts()["stream_changes_lag"]
            assert behind >= 20
            assert "changes could not be published" in thread.notice()
            broker.start()
            work(books, hosts, 20)
            assert_published(options, books)
            until(lambda: not thread.notice(), WAIT_S, thread.notice)


def test_a_log_compacted_past_the_topic(kafka: Kafka, url: str) -> None:
    options = change_options(kafka, changes_batch=4, changes_message_bytes=2000)
    with engine(url) as books:
        hosts = furnish(books)
        with publishing(options, books):
            before = books.revision
            read_all(options, until=before)
        work(books, hosts, 20)
        open_store(url, StoreOptions()).compact(5)
        with publishing(options, books) as thread:
            snapshot_at = books.revision
            read_all(options, until=snapshot_at)
            work(books, hosts, 8)
            values = read_all(options, until=books.revision)
            assert thread.counts()["stream_snapshots"] == 1
        assert revisions(values) == [
            *range(1, before + 1),
            *range(snapshot_at + 1, books.revision + 1),
        ]
        messages = [decode(one) for one in values]
        begin = messages[before]
        assert isinstance(begin, Begin)
        assert begin.revision == snapshot_at
        assert "older revisions were compacted" in begin.reason
        (end,) = (one for one in messages if isinstance(one, End))
        assert end.revision == snapshot_at
        assert tables(copy_of(values).tables) == kept(books)
        assert tables(copy_of(values[before:]).tables) == kept(books)


def test_a_message_that_the_topic_refuses_is_told(kafka: Kafka, url: str) -> None:
    options = change_options(kafka, changes_message_bytes=100_000)
    small = {"cleanup.policy": "delete", "max.message.bytes": "2000"}
    ensure(options, [Topic(options.changes_topic, 1, small)])
    with engine(url) as books:
        # One revision of many rows, which compression does not make small enough.
        names = [f"CUSTOM_{uuid.uuid4().hex.upper()}" for _ in range(300)]
        books.submit(SyncNames((), tuple(sorted(names))))
        with publishing(options, books) as thread:
            until(lambda: "max.message.bytes" in thread.notice(), WAIT_S, thread.notice)
        assert read_all(options) == []
        smaller = replace(options, changes_message_bytes=1500)
        with publishing(smaller, books):
            work(books, furnish(books), 4)
            assert_published(options, books)


def test_a_topic_that_is_deleted_begins_again(kafka: Kafka, url: str) -> None:
    options = change_options(kafka)
    with engine(url) as books, publishing(options, books):
        hosts = furnish(books)
        work(books, hosts, 10)
        read_all(options, until=books.revision)
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        admin.delete_topics([options.changes_topic])[options.changes_topic].result(30)
        work(books, hosts, 10)
        assert_published(options, books)


def test_a_topic_whose_messages_have_expired_goes_on_with_a_snapshot(
    kafka: Kafka, url: str
) -> None:
    options = change_options(kafka)
    with engine(url) as books:
        work(books, furnish(books), 10)
        with publishing(options, books):
            read_all(options, until=books.revision)
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        everything = TopicPartition(options.changes_topic, 0, -1)
        for deleted in admin.delete_records([everything]).values():
            deleted.result(30)
        assert read_all(options) == []
        with publishing(options, books):
            values = read_all(options, until=books.revision)
        assert [type(decode(one)) for one in values[:2]] == [Begin, SnapshotRows]
        assert revisions(values) == []
        assert tables(copy_of(values).tables) == kept(books)
