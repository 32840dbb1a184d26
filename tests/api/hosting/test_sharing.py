"""Concurrent requests share one answer, which is not older than they are."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from gantt.api.hosting.pools import PAUSE_S, SharedAnswer
from gantt.api.hosting.rsgi import HttpAnswer


def test_concurrent_requests_share_one_answer() -> None:
    made: list[HttpAnswer] = []

    def make() -> HttpAnswer:
        made.append(HttpAnswer())
        return made[-1]

    async def ask() -> list[HttpAnswer]:
        shared = SharedAnswer("test")
        return await asyncio.gather(*(shared.answer(make) for _ in range(1000)))

    found = asyncio.run(ask())
    assert len(made) == 1
    assert all(one is made[0] for one in found)


def test_shared_answer_is_not_older_than_its_request() -> None:
    begun, go_on = threading.Event(), threading.Event()
    made: list[HttpAnswer] = []

    def make() -> HttpAnswer:
        begun.set()
        assert go_on.wait(30)
        made.append(HttpAnswer())
        return made[-1]

    async def ask() -> tuple[HttpAnswer, HttpAnswer]:
        shared = SharedAnswer("test")
        first = asyncio.create_task(shared.answer(make))
        await asyncio.to_thread(begun.wait, 30)
        second = asyncio.create_task(shared.answer(make))
        await asyncio.sleep(0)
        go_on.set()
        return await first, await second

    first, second = asyncio.run(ask())
    assert made == [first, second]
    assert first is not second


def test_frequent_requests_wait_for_the_next_answer() -> None:
    now = [100.0]
    waits: list[float] = []

    async def ask() -> None:
        loop = asyncio.get_running_loop()
        later = loop.call_later

        def call_later(wait_s: float, *job: object) -> object:
            waits.append(wait_s)
            now[0] += wait_s
            return later(0, *job)  # type: ignore[arg-type]

        loop.call_later = call_later  # type: ignore[method-assign, assignment]
        shared = SharedAnswer("test", lambda: now[0])
        for _ in range(3):
            await shared.answer(HttpAnswer)
        now[0] += 60
        await shared.answer(HttpAnswer)

    asyncio.run(ask())
    assert waits == [0.0, pytest.approx(PAUSE_S), pytest.approx(PAUSE_S), 0.0]


def test_failure_is_logged_once_and_not_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> HttpAnswer:
        raise SystemExit("of some library")

    async def ask() -> tuple[list[HttpAnswer], HttpAnswer]:
        shared = SharedAnswer("test")
        failed = await asyncio.gather(*(shared.answer(fail) for _ in range(9)))
        return failed, await shared.answer(lambda: well)

    well = HttpAnswer()
    with caplog.at_level(logging.ERROR):
        failed, after = asyncio.run(ask())
    assert [one.status for one in failed] == [500] * 9
    assert after is well
    assert len(caplog.records) == 1
