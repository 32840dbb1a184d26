"""The client for callers that ``await``: the library's methods, a few at once."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import gantt
from gantt import AsyncSchedulerClient, Item
from gantt.errors import Invalid, NoValidHost
from gantt.model.operations import NAMED
from gantt.model.protocol import GanttProtocol
from tests import inprocess
from tests.idle_host import idle

SPEC = {"flavor": {"vcpus": 1, "memory_mb": 64, "root_gb": 0}}


@pytest.mark.parametrize("door", inprocess.DOORS)
def test_what_is_asked_is_awaited(tmp_path: Path, door: str) -> None:
    async def use(books: GanttProtocol) -> None:
        async with AsyncSchedulerClient(books) as client:
            await client.update_host(
                "h1", "h1", idle(4, 4096, cpu_allocation_ratio=1.0)
            )
            plans = await asyncio.gather(
                *(client.place(Item(f"web{n}", cpu=1)) for n in range(3))
            )
            assert {plan.placements[0].host for plan in plans} == {"h1"}
            ((chosen, *_),) = await client.select_destinations(
                None, gantt.RequestSpec(gantt.Flavor(1, 64)), dry_run=False
            )
            assert chosen.service_host == "h1"
            names = [one.name for one in await client.list_placements()]
            assert sorted(names) == ["web0", "web1", "web2"]
            with pytest.raises(NoValidHost, match="There is no room for 'big'"):
                await client.place(Item("big", cpu=9))
            await client.release_placement("web0")
        assert len(books.list_placements()) == 2, "it stays its opener's"

    with inprocess.opened(door, tmp_path) as books:
        asyncio.run(use(books))


def test_every_operation_of_the_library_can_be_awaited() -> None:
    of_library = [name for name in NAMED if hasattr(GanttProtocol, name)]
    assert len(of_library) > 30
    assert all(
        asyncio.iscoroutinefunction(getattr(AsyncSchedulerClient, name))
        for name in (*of_library, "place", "schedule", "find_candidates")
    )


def test_calls_beyond_its_connections_wait() -> None:
    class Slow:
        def __init__(self) -> None:
            self.running = self.most = 0
            self.lock = threading.Lock()
            self.both = threading.Barrier(2)

        def needs(self) -> int:
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
            self.both.wait(10)
            with self.lock:
                self.running -= 1
            return self.most

    async def use(books: Any) -> None:
        async with AsyncSchedulerClient(books, connections=2) as client:
            await asyncio.gather(*(client.needs() for _ in range(6)))

    books = Slow()
    asyncio.run(use(books))
    assert books.most == 2
    with pytest.raises(Invalid, match="0 connections"):
        AsyncSchedulerClient("memory://", connections=0)
