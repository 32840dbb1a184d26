"""Large bodies are judged one at a time, beside small ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gantt.api.wire import bodies, schema_errors
from gantt.api.wire.problem import Problem

AT_ONCE = 4
LARGE = json.dumps({"name": "n" * bodies.LARGE}).encode()
SMALL = b'{"name": 1}'
BROKEN = b"[" * bodies.LARGE


def judge(raw: bytes, version: int) -> None:
    with pytest.raises(Problem):
        bodies.create_provider(raw, version)


def watch(monkeypatch: pytest.MonkeyPatch, meet: Callable[[bytes], None]) -> None:
    """Call ``meet`` before each body is judged."""
    decode = schema_errors._decode

    def decoded(raw: bytes) -> Any:
        meet(raw)
        return decode(raw)

    monkeypatch.setattr(schema_errors, "_decode", decoded)


def test_large_bodies_are_validated_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met = threading.Barrier(2)
    together = 0

    def meet(_raw: bytes) -> None:
        nonlocal together
        try:
            met.wait(0.2)
        except threading.BrokenBarrierError:
            met.reset()
        else:
            together += 1

    watch(monkeypatch, meet)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(judge, [LARGE, BROKEN] * 2, [39, 39, 0, 0]))
    assert together == 0


def test_small_body_does_not_wait_for_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met = threading.Barrier(3)

    def meet(_raw: bytes) -> None:
        met.wait(20)

    watch(monkeypatch, meet)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(judge, [LARGE, SMALL, SMALL], [39] * 3))
    assert not met.broken
