"""What look-ups cost, the most frequent requests of a cloud: of the allocations of a
consumer, and of the inventories and usages of a provider.

Counted from the server's head of a request to its answer, all of it in the event loop.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gantt.api.app import build_app
from gantt.api.hosting.front import Front
from gantt.api.hosting.pools import Pools
from gantt.conf import Settings, load
from gantt.engine.gantt import Gantt
from gantt.model.commands import (
    ConsumerAllocations,
    CreateProvider,
    Inventory,
    SetAllocations,
    SetInventories,
    SyncNames,
)
from gantt.store import Store, open_store
from tests.api.hosting.test_environ import Headers, Scope
from tests.work.counting import CallCounter
from tests.work.test_paths import OPTIONS

UUID = "11111111-2222-3333-4444-555555555555"
MISSING = "11111111-2222-3333-4444-666666666666"
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
TOKENS = f"{'s' * 40}: {{user: nova, project: service, roles: [admin]}}\n"
HEADERS = Headers(
    [
        ("x-auth-token", "s" * 40),
        ("accept", "application/json"),
        ("openstack-api-version", "placement 1.39"),
    ]
)
ALLOCATIONS, NONE = f"/allocations/{UUID}", f"/allocations/{MISSING}"
INVENTORIES = f"/resource_providers/{UUID}/inventories"
USAGES = f"/resource_providers/{UUID}/usages"
# Freshness and path -> most calls, most of them to another module, statements.
BOUNDS = {
    ("strict", ALLOCATIONS): (76, 48, 1),
    ("strict", NONE): (63, 39, 1),
    ("bounded", ALLOCATIONS): (67, 42, 0),
    ("strict", INVENTORIES): (85, 54, 1),
    ("strict", USAGES): (74, 48, 1),
    ("bounded", USAGES): (65, 42, 0),
}


class Exchange:
    """The answer that was sent, and by which thread."""

    body = b""
    thread = 0
    status = 0

    def response_bytes(self, status: int, headers: object, body: bytes) -> None:
        self.status, self.body, self.thread = status, body, threading.get_ident()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'books.db'}", OPTIONS.store)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    config = tmp_path / "gantt.conf"
    text = f"[api]\nauth_strategy = token\n[gantt]\ntokens_file = {tokens}\n"
    config.write_text(text)
    return load([str(config)], environ={})


@pytest.fixture
def engine(store: Store, freshness: str) -> Iterator[Gantt]:
    options = replace(OPTIONS, freshness=freshness, bound_ms=600_000)
    with Gantt(store, options) as found:
        found.submit(SyncNames(CLASSES, ()))
        found.submit(CreateProvider(UUID, "node"))
        room = dict.fromkeys(CLASSES, Inventory(1000))
        found.submit(SetInventories(UUID, room))
        shares = {UUID: dict.fromkeys(CLASSES, 1)}
        one = ConsumerAllocations(UUID, shares, "p", "u", None, "INSTANCE")
        found.submit(SetAllocations((one,)))
        yield found


@pytest.mark.parametrize(("freshness", "path"), BOUNDS)
def test_work_of_a_look_up(
    engine: Gantt, store: Store, settings: Settings, freshness: str, path: str
) -> None:
    app = build_app(engine, settings)
    front = Front(
        app,
        Pools(settings),
        turned_away=app,
        refused=lambda reason: None,
        is_stopping=lambda: False,
    )
    loop = asyncio.new_event_loop()
    front.__rsgi_init__(loop)
    scope = cast(Any, Scope(path, headers=HEADERS))

    def look_up() -> Exchange:
        exchange = Exchange()
        front.__rsgi__(scope, cast(Any, exchange))
        return exchange

    counter = CallCounter()
    counter.watch()
    found = set()
    for _ in range(50):
        before = int(store.statements)
        sys.setprofile(counter.note)
        try:
            with counter:
                answered = look_up()
        finally:
            sys.setprofile(None)
        if answered.thread != threading.get_ident():
            time.sleep(0.01)  # once a second a thread asks the policy
            continue
        assert answered.status == 200
        assert (b"MEMORY_MB" in answered.body) == (path != NONE)
        statements = int(store.statements) - before
        found.add((counter.calls, counter.moves, statements))
    loop.close()
    assert found, "no look-up was answered in the event loop"
    most_calls, most_moves, most_statements = BOUNDS[freshness, path]
    calls, moves, statements = min(found)
    assert calls <= most_calls, found
    assert moves <= most_moves, found
    assert statements == most_statements, found
