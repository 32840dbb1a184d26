"""A request whose handler raises anything is no longer in progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from gantt.api.hosting.front import Front
from gantt.api.hosting.pools import Pools
from gantt.conf import load
from tests.api.hosting.test_environ import Scope


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, RuntimeError])
def test_any_exception_ends_the_request(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def app(_environ: Any, _start: Any) -> Iterable[bytes]:
        raise kind("of some library")

    async def ask() -> int:
        front = Front(
            app,
            Pools(load(environ={})),
            turned_away=app,
            refused=lambda _reason: None,
            is_stopping=lambda: False,
        )
        front.__rsgi_init__(asyncio.get_running_loop())
        exchange: Any = object()
        asked = front.__rsgi__(Scope(path="/traits"), exchange)
        await asyncio.wait_for(asyncio.ensure_future(asked), 30)
        return front._under_way

    assert asyncio.run(ask()) == 0
    assert "GET /traits failed" in caplog.text
