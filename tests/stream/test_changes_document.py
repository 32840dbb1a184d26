"""docs/how-to/streams.md, held to what is published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.hosts import HostStats
from gantt.observe.metrics import Meters
from gantt.store import StoreOptions, open_store
from gantt.stream.changes.copy import Tables
from gantt.stream.changes.messages import Begin, End, Revision, SnapshotRows
from gantt.stream.changes.publisher import Publisher, TransactionLimits
from gantt.stream.changes.publisher_thread import Publishing
from gantt.stream.changes.topic import KafkaChanges
from gantt.stream.options import StreamOptions
from tests.kafka_broker import Kafka
from tests.stream.change_fakes import Broker, Producer
from tests.stream.change_readers import change_options, kept

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "streams.md").read_text(
    encoding="utf-8"
)
SECTION = TEXT.partition("## The change log as a topic")[2].partition("\n## ")[0]
MESSAGES = SECTION.partition("### Messages")[2].partition("###")[0]
READER, COPY = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
OTHER = "11111111-1111-4111-8111-111111111111"


class Finished(Exception):
    """All of the topic is read."""


def consumer_of(options: StreamOptions) -> type[confluent_kafka.Consumer]:
    """A consumer of this broker and topic, in place of the document's."""

    class OfTest(confluent_kafka.Consumer):
        def __init__(self, settings: dict[str, Any]) -> None:
            servers = ",".join(options.bootstrap_servers)
            here = {"bootstrap.servers": servers, "enable.partition.eof": True}
            super().__init__({**settings, **here})

        def subscribe(self, topics: list[str]) -> None:  # type: ignore[override]
            assert topics == [StreamOptions().changes_topic]
            super().subscribe([options.changes_topic])

        def poll(self, timeout: float = -1) -> Message | None:
            found = super().poll(timeout)
            error = None if found is None else found.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                raise Finished
            return found

    return OfTest


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Gantt]:
    """With a host and its inventory."""
    url = f"sqlite:///{tmp_path / 'books.db'}"
    with open_gantt(url, EngineOptions(store=StoreOptions(create=True))) as found:
        found.update_host("host-1", None, HostStats(vcpus=4, memory_mb=1024))
        found.create_provider("other", uuid=OTHER)
        found.create_trait("CUSTOM_FAST")
        yield found


def compact(books: Gantt) -> None:
    """Keep the last revision of the log."""
    store = open_store(books.url, StoreOptions())
    store.compact(1)
    store.close()


def change(books: Gantt) -> None:
    generation = books.get_provider(OTHER).generation
    books.set_traits(OTHER, ("CUSTOM_FAST",), generation=generation)


def publish(options: StreamOptions, books: Gantt) -> None:
    """Until all is in the topic."""
    topic = KafkaChanges(options)
    publisher = Publisher(books, topic, TransactionLimits())
    while publisher.reached is None or publisher.reached < books.revision:
        publisher.step(0.0)
    publisher.close()


def as_json(tables: Tables) -> dict[str, dict[str, Any]]:
    """As a reader in JSON has them."""
    return {
        table: {
            str(json.loads(json.dumps(key))): json.loads(json.dumps(row))
            for key, row in rows.items()
        }
        for table, rows in tables.items()
    }


def with_rows(tables: Any) -> Any:
    """Without tables that have no rows."""
    return {name: rows for name, rows in tables.items() if rows}


@pytest.mark.server("kafka")
def test_the_reader_has_a_copy_of_the_books(
    kafka: Kafka, books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = change_options(kafka)
    monkeypatch.setattr(confluent_kafka, "Consumer", consumer_of(options))
    publish(options, books)
    change(books)
    books.delete_host("host-1", "host-1")
    publish(options, books)
    read: dict[str, Any] = {}
    with pytest.raises(Finished):
        exec(READER, read)
    assert with_rows(read["tables"]) == as_json(kept(books))
    read["consumer"].close()


@pytest.mark.server("kafka")
def test_the_reader_takes_a_snapshot(
    kafka: Kafka, books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = change_options(kafka)
    monkeypatch.setattr(confluent_kafka, "Consumer", consumer_of(options))
    compact(books)
    publish(options, books)
    change(books)
    publish(options, books)
    read: dict[str, Any] = {}
    with pytest.raises(Finished):
        exec(READER, read)
    assert with_rows(read["tables"]) == as_json(kept(books))
    # The same consumer, from the beginning.
    read["consumer"].assign([TopicPartition(options.changes_topic, 0, 0)])
    with pytest.raises(Finished):
        exec(COPY, read)
    assert with_rows(read["copy"].tables) == kept(books)
    assert read["copy"].revision == books.revision
    read["consumer"].close()


def test_fields_are_those_of_the_messages() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", MESSAGES, re.MULTILINE)
    assert rows.pop(0) == ("type", "fields besides `books`")
    told = {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows}
    kinds = (Revision, Begin, SnapshotRows, End)
    assert told == {
        str(one.__struct_config__.tag): {*one.__struct_fields__} - {"books"}
        for one in kinds
    }


def test_options_have_the_defaults_that_are_told() -> None:
    told = dict(re.findall(r"^\| `(changes_\w+)` \| `?([\w-]+)`? \|", SECTION, re.M))
    assert told == {
        name: str(getattr(StreamOptions(), name))
        for name in StreamOptions.__struct_fields__
        if name.startswith("changes_")
    }


def test_metrics_are_those_that_are_counted(books: Gantt) -> None:
    thread = Publishing(StreamOptions(), books, Producer(Broker()))
    meters = Meters(thread.counts)
    text = meters.exposition().decode()
    told = set(re.findall(r"`(gantt_stream_\w+)`", SECTION))
    assert {one.removeprefix("gantt_").removesuffix("_total") for one in told} == set(
        thread.counts()
    )
    assert [one for one in told if f"\n{one} " not in text] == []
