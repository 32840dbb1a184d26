"""Publishes as a scheduler does, and is killed in the middle of a transaction:
``python -m tests.stream.dying_publisher DATABASE BROKER TOPIC BATCH TRANSACTION``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from confluent_kafka import Producer

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.store import StoreOptions, open_store
from gantt.stream.changes.publisher_thread import Publishing
from gantt.stream.changes.topic import KafkaChanges
from gantt.stream.options import StreamOptions


class Dying(KafkaChanges):
    """All messages of the last transaction are in Kafka, and it is not committed."""

    def __init__(self, options: StreamOptions, transactions: int) -> None:
        super().__init__(options)
        self.left = transactions

    def commit(self, producer: Producer, wait_s: float) -> None:
        self.left -= 1
        if self.left == 0:
            assert producer.flush(30) == 0
            os.kill(os.getpid(), signal.SIGKILL)
        super().commit(producer, wait_s)


def main(database: str, broker: str, topic: str, batch: str, transaction: str) -> None:
    options = StreamOptions((broker,), changes_topic=topic, changes_batch=int(batch))
    store = open_store(database, StoreOptions())
    books = Gantt(store, EngineOptions(sweep_s=0.05, leader_silence_s=0.4))
    Publishing(options, books, Dying(options, int(transaction))).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
