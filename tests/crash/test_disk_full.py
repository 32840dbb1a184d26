"""A disk that takes no more, under load: who is told so, and what is kept.

The limit of file sizes stands for the disk: it is put on the processes of a service
while clients write, and lifted again. The service goes on by itself.
"""

from __future__ import annotations

import json
import os
import random
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash.load import Client
from tests.crash.test_kill import CLIENTS, ROUNDS, SEED, _check, _prepare
from tests.live import Live, start

WAIT_S = 60.0
NO_LIMIT = resource.RLIM_INFINITY


class Patient(Client):
    """Goes on when it is told that nothing can be written."""

    def __init__(self, address: str, providers: list[str], seed: int) -> None:
        super().__init__(address, providers, seed)
        self.told: Counter[int] = Counter()
        self.last_text = ""

    def hear(self, method: str, consumer: str, status: int, text: str) -> None:
        self.told[status] += 1
        if status != 503:
            super().hear(method, consumer, status, text)
            return
        self.last_text = text
        if method == "DELETE":  # nothing was kept, so it is still there
            self.history.acknowledged.add(consumer)
        time.sleep(0.01)


def test_a_full_disk_is_told_and_loses_nothing(
    tmp_path: Path, record_property: Any
) -> None:
    rng = random.Random(SEED)
    database = f"sqlite:///{tmp_path}/books.db"
    providers = _prepare(database)
    live = start(database, tmp_path / "log")
    clients = [
        Patient(live.url.removeprefix("http://"), providers, rng.getrandbits(64))
        for _ in range(CLIENTS)
    ]
    try:
        for client in clients:
            client.start()
        for _ in range(max(2, ROUNDS // 6)):
            before = _told(clients)
            _until(lambda b=before: _told(clients)[204] > b[204] + 20)  # type: ignore[misc]
            _limit(live, _largest(tmp_path))
            _until(lambda b=before: _told(clients)[503] > b[503] + 20)  # type: ignore[misc]
            _limit(live, NO_LIMIT)
        before = _told(clients)
        _until(lambda: _told(clients)[204] > before[204] + 20)
    finally:
        for client in clients:
            client.stop.set()
        for client in clients:
            client.join()
        live.stop()
    told = _told(clients)
    assert "disk" in json.loads(clients[0].last_text)["errors"][0]["detail"]
    kept = _check(database, providers, set(), list(clients), f"seed {SEED}")
    record_property(
        "told",
        (
            "A full disk under load on sqlite",
            {"acknowledged": told[204], "told that it is full": told[503]},
        ),
    )
    assert kept


def _told(clients: list[Patient]) -> Counter[int]:
    """Answers by status, of all clients so far."""
    return sum((client.told.copy() for client in clients), Counter())


def _largest(folder: Path) -> int:
    """So that no file may grow any more."""
    return max(path.stat().st_size for path in folder.glob("books.db*"))


def _limit(live: Live, size: int) -> None:
    """Put a limit of file sizes on the service and its workers."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _group_of(int(entry.name)) == live.process.pid:
            limits = (size, NO_LIMIT)
            resource.prlimit(int(entry.name), resource.RLIMIT_FSIZE, limits)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
