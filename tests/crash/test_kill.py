"""kill -9 of a service under load, again and again: acknowledged against found.

GANTT_CRASH_ROUNDS (default 3) and GANTT_CRASH_SEED choose how long and from where. On
servers, which only see a client go, it is a third of the rounds, at least two.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import gantt
from gantt.connection import open_gantt
from gantt.model.requests import UsageQuery
from tests.crash.load import RESOURCES, Client
from tests.live import start

ROUNDS = int(os.environ.get("GANTT_CRASH_ROUNDS", "3"))
SEED = int(os.environ.get("GANTT_CRASH_SEED", "20261121"))
CLIENTS = 8


def test_acknowledged_writes_survive_and_others_are_atomic(
    kind: str, database: str, tmp_path: Path, record_property: Any
) -> None:
    rng = random.Random(SEED)
    rounds = ROUNDS if kind == "sqlite" else max(2, ROUNDS // 3)
    providers = _prepare(database)
    kept: set[str] = set()
    told: Counter[str] = Counter()
    for number in range(rounds):
        live = start(database, tmp_path / "log")
        address = live.url.removeprefix("http://")
        clients = [
            Client(address, providers, seed=rng.getrandbits(64)) for _ in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        time.sleep(rng.uniform(0.1, 0.8))
        live.kill()
        for client in clients:
            client.join()
        told.update(_told(clients))
        kept = _check(database, providers, kept, clients, f"seed {SEED} round {number}")
        if ROUNDS > 20:  # a long run is watched (pytest -s)
            print(kind, dict(told), flush=True)
    record_property("told", (f"kill -9 under load on {kind}", dict(told)))
    assert told["acknowledged"] > rounds, (
        "the clients were never answered: nothing was tested"
    )


def _told(clients: list[Client]) -> dict[str, int]:
    """What one kill met; ``_check`` raises when anything was lost."""
    heard = [client.history for client in clients]
    return {
        "kills": 1,
        "acknowledged": sum(len(h.acknowledged) + len(h.returned) for h in heard),
        "without an answer": sum(len(h.unknown) for h in heard),
    }


def _prepare(database: str) -> list[str]:
    with closing(gantt.connect(database, create=True)) as books:
        providers = [books.create_provider(f"host-{n}").uuid for n in range(5)]
        for provider in providers:
            books.set_inventories(
                provider,
                {name: gantt.Inventory(100_000_000) for name in RESOURCES},
            )
    return providers


def _check(
    database: str,
    providers: list[str],
    kept: set[str],
    clients: list[Client],
    where: str,
) -> set[str]:
    """Hold the books against all histories; the consumers that are there now."""
    must = kept.union(*(c.history.acknowledged for c in clients))
    gone = set().union(*(c.history.returned for c in clients))
    may = set().union(*(c.history.unknown for c in clients))
    refused = [text for c in clients for text in c.history.refused]
    assert not refused, f"{where}: {refused[:3]}"
    with open_gantt(database) as books:
        found: dict[str, dict[str, dict[str, int]]] = {}
        for provider in providers:
            on_it = books.get_provider_allocations(provider).allocations
            for consumer, share in on_it.items():
                found.setdefault(consumer, {})[provider] = share.resources
                assert share.generation == 1, f"{where}: {consumer}"
        assert must <= set(found), f"{where}: lost {must - set(found)}"
        assert not gone & set(found), f"{where}: risen {gone & set(found)}"
        assert set(found) <= must | may, f"{where}: {set(found) - must - may}"
        for consumer, parts in found.items():
            assert list(parts.values()) == [RESOURCES] * 2, f"{where}: half {consumer}"
        used: Counter[str] = Counter()
        for provider in providers:
            used.update(books.get_usages(provider).usages)
        expected = {name: 2 * n * len(found) for name, n in RESOURCES.items()}
        assert dict(used) == expected, where
        totals = books.total_usages(UsageQuery("project"))
        assert totals["all"].consumer_count == len(found), where
        assert books.verify().problems == (), where
    return set(found)
