"""The Placement API over HTTP on loopback: a search for candidates, then a claim of the
first. The same client asks Gantt's service and upstream Placement, each a process of
its own on its copy of one SQLite file.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from gantt.bench.bench_fleets import Fact
from gantt.bench.fleet_setup import CARD_CLASS, facts_of_rows
from gantt.bench.http_client import Client
from gantt.bench.servers import Server, used_s
from gantt.bench.workloads import Ask

LIMIT: Final = 1_000
"""Candidates of one search: as many as Nova's scheduler asks for by default."""
_PROVIDERS: Final = "SELECT id, name, root_provider_id FROM resource_providers"
_AMOUNTS: Final = (
    "SELECT resource_provider_id, resource_classes.name, {amount} FROM {table} "
    "JOIN resource_classes ON resource_classes.id = resource_class_id"
)


class _Found(Struct):
    allocation_requests: list[msgspec.Raw]


class _Offer(Struct):
    allocations: dict[str, Any]
    mappings: dict[str, list[str]] = {}


_found = msgspec.json.Decoder(_Found).decode
_offer = msgspec.json.Decoder(_Offer).decode


def facts_of_file(path: Path) -> Iterator[Fact]:
    """What the tables in an SQLite file hold."""
    inventories = _AMOUNTS.format(amount="total", table="inventories")
    allocations = _AMOUNTS.format(amount="used", table="allocations")
    with closing(sqlite3.connect(path)) as file:
        asked = (file.execute(_PROVIDERS), file.execute(inventories))
        yield from facts_of_rows((*asked, file.execute(allocations)))


class PlacementSide:
    """``database``: the file that ``server`` serves, which has been started."""

    is_threaded = False

    def __init__(self, name: str, server: Server, database: Path) -> None:
        self.name = name
        self._server = server
        self._database = database
        self._client = Client(server)

    def facts(self) -> Iterable[Fact]:
        return facts_of_file(self._database)

    def place(self, ask: Ask) -> int:
        if ask.leaves >= 0:
            (consumer,) = Ask(ask.leaves, 0, 0, 0).names
            self._must(204, "DELETE", f"/allocations/{consumer}", None)
        offers = self.offers(ask)
        taken = offers[: ask.count]
        if len(taken) < ask.count:
            return 0
        self.claim(ask.names, taken)
        return len(taken)

    def offers(self, ask: Ask) -> list[msgspec.Raw]:
        """Up to ``LIMIT`` candidates for one instance."""
        return _found(self._client.ask(path_of(ask))).allocation_requests

    def claim(self, names: tuple[str, ...], offers: list[msgspec.Raw]) -> None:
        """One offer for each consumer; several are one request."""
        claims = {
            name: _claim_of(_offer(one))
            for name, one in zip(names, offers, strict=True)
        }
        if len(claims) > 1:
            body = msgspec.json.encode(claims)
            self._must(204, "POST", "/allocations", body)
            return
        for name, claim in claims.items():
            body = msgspec.json.encode(claim)
            self._must(204, "PUT", f"/allocations/{name}", body)

    def worked_s(self) -> float:
        return time.process_time() + used_s(self._server.pid)

    def close(self) -> None:
        self._client.close()
        self._server.__exit__(None, None, None)

    def _must(self, wanted: int, method: str, path: str, body: bytes | None) -> None:
        status, answer = self._client.exchange(method, path, body)
        if status != wanted:
            raise RuntimeError(
                f"{self.name}: {method} {path}: {status} {answer[:500]!r}"
            )


def path_of(ask: Ask) -> str:
    """The search for candidates for one instance of ``ask``."""
    amounts = {"VCPU": ask.vcpus, "MEMORY_MB": ask.memory_mb, "DISK_GB": ask.disk_gb}
    resources = ",".join(f"{name}:{amount}" for name, amount in amounts.items())
    query = {"limit": str(LIMIT), "resources": resources}
    if ask.is_pinned:
        query["resources1"] = f"{CARD_CLASS}:1"
    return f"/allocation_candidates?{urlencode(query, safe=':,')}"


def _claim_of(offer: _Offer) -> dict[str, Any]:
    return {
        "allocations": offer.allocations,
        "mappings": offer.mappings,
        "project_id": "bench",
        "user_id": "bench",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
