"""A burst of full reports through a real Kafka: from the first that is taken in until
the last is durable in SQLite; the broker has the same processors.

The reports are in the topic when it begins, as after an outage. Each process of the
scheduler is a process here too, with its own engine and intake.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeAlias, cast

import msgspec
from confluent_kafka import Producer

from bench.report import Row, say
from bench.simulated_hosts import fleet
from gantt.api.hosting import server
from gantt.bench.figures import duration
from gantt.connection import open_gantt
from gantt.engine.engine_protocol import Engine
from gantt.engine.gantt import Gantt
from gantt.model.reports import Delivery, ReportOutcome
from gantt.store import schema
from gantt.stream.broker_connection import ensure
from gantt.stream.options import StreamOptions
from gantt.stream.report_consumer import Intake
from gantt.stream.topics import reports_topic
from tests.kafka_broker import start_kafka

HOSTS: Final = 10_000
GOAL_S: Final = 3.0
PROCESSES: Final = (1, 2)
_WAIT_S: Final = 300.0
_Batch: TypeAlias = tuple[float, float, int, float]
"""When it came, when it was durable, reports applied, seconds of processors."""


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """The burst, taken in by one process and by two."""
    hosts = max(100, int(HOSTS * scale))
    with start_kafka() as broker:
        say(f"stream: {hosts:,} full reports")
        said = _reports(hosts)
        size_kb = sum(len(value) for _, value in said) / hosts / 1000
        for processes in PROCESSES:
            options = StreamOptions(
                (broker.servers,),
                reports_topic=f"reports-{processes}",
                dead_letters_topic=f"dead-{processes}",
            )
            ensure(options, [reports_topic(options)])
            database = f"sqlite:///{folder}/stream-{processes}.db"
            schema.sync(database)
            took, cpu_s = _burst(options, database, said, processes)
            yield Row(
                f"stream: {hosts:,} full reports of {size_kb:.1f} kB, "
                f"{processes} process{'es'[: 2 * (processes - 1)]}",
                f"≤ {duration(GOAL_S)}",
                f"{duration(took)}, {cpu_s:.1f} s of processors",
                is_met=took <= GOAL_S if scale == 1 else None,
            )


def _reports(hosts: int) -> list[tuple[str, bytes]]:
    """Key and value of the full report of each host, as the default options need it."""
    with open_gantt("memory://") as books:
        needs = books.needs()
    found = [one.report() for one in fleet(hosts, needs)]
    return [(one.key, msgspec.json.encode(one)) for one in found]


def _burst(
    options: StreamOptions,
    database: str,
    said: Sequence[tuple[str, bytes]],
    processes: int,
) -> tuple[float, float]:
    """Seconds from the first batch that any process takes to the last that is
    durable, and seconds of processors for them without Kafka's client."""
    command = [sys.executable, "-m", "bench.stream", database]
    command.append(msgspec.json.encode(options).decode())
    batches: SimpleQueue[_Batch] = SimpleQueue()
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    try:
        for one in running:
            assert one.stdout is not None
            one.stdout.readline()
        _produce(options, said)
        for one in running:
            assert one.stdin is not None
            one.stdin.write(b"\n")
            one.stdin.flush()
            threading.Thread(target=_listen, args=(one, batches), daemon=True).start()
        found: list[_Batch] = []
        while sum(count for _, _, count, _ in found) < len(said):
            found.append(batches.get(timeout=_WAIT_S))
    finally:
        for one in running:
            one.kill()
            one.wait()
    took = max(end for _, end, _, _ in found) - min(start for start, _, _, _ in found)
    return took, sum(cpu for _, _, _, cpu in found)


def _listen(process: subprocess.Popen[bytes], batches: SimpleQueue[_Batch]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        batches.put(msgspec.json.decode(line, type=_Batch))


def _produce(options: StreamOptions, said: Sequence[tuple[str, bytes]]) -> None:
    servers = ",".join(options.bootstrap_servers)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    for key, value in said:
        producer.produce(options.reports_topic, value, key)
        producer.poll(0)
    assert producer.flush(_WAIT_S) == 0


class _Timed:
    """Books that wait for a word, and then tell of each batch when it came and when it
    was durable."""

    def __init__(self, books: Gantt) -> None:
        self._books = books
        self.may_begin = threading.Event()

    def take_deliveries(
        self, deliveries: Sequence[Delivery]
    ) -> tuple[ReportOutcome, ...]:
        """See Engine."""
        self.may_begin.wait()
        began, used = time.monotonic(), time.process_time()
        outcomes = self._books.take_deliveries(deliveries)
        assert {one.outcome for one in outcomes} <= {"applied", "duplicate"}
        applied = sum(one.outcome == "applied" for one in outcomes)
        used = time.process_time() - used
        batch: _Batch = began, time.monotonic(), applied, used
        print(msgspec.json.encode(batch).decode(), flush=True)
        return outcomes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._books, name)


def _process(database: str, options: StreamOptions) -> None:
    """One process of the scheduler, once it has its part of the topic."""
    with ExitStack() as stack:
        with server.kept_from_collections():  # as a worker of gantt serve does
            inner = stack.enter_context(open_gantt(database))
        books = _Timed(inner)
        intake = Intake(options, cast(Engine, books))
        intake.start()
        print("there", flush=True)
        sys.stdin.readline()
        books.may_begin.set()
        threading.Event().wait()


if __name__ == "__main__":
    _process(sys.argv[1], msgspec.json.decode(sys.argv[2], type=StreamOptions))
