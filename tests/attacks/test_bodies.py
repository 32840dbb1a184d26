"""Huge names, and deep and wide JSON on every route that there is."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gantt.api.native.table import OPERATIONS
from gantt.api.routes import ROUTES
from tests.attacks import beside
from tests.attacks.beside import Beside, told
from tests.attacks.service import Service, attacked, provider

HUGE = 30_000_000
AT_ONCE = 8
# An answer has at most what a refusal may quote, twice escaped.
LONGEST_ANSWER = 64_000
# Memory for what a refused body has brought until it was refused.
REFUSED_MB = 40
# Memory for bodies that are read, as a multiple of them all: the bytes twice (server
# and application), their text, its value, what the judge is shown.
FACTOR = 6

DEEP, WIDE = 100_000, 50_000
FIELDS = {
    "uuid": provider(1),
    "consumer_uuid": provider(1),
    "resource_class": "VCPU",
    "name": "CUSTOM_X",
    "claim": provider(1),
    "host": "host",
    "node": "node",
}
HOSTILE: dict[str, bytes] = {
    "deep list": b"[" * DEEP + b"]" * DEEP,
    "deep list without an end": b"[" * DEEP,
    "deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "as deep as may be": b'{"a":' * 900 + b"1" + b"}" * 900,
    "wide list": json.dumps(list(range(WIDE))).encode(),
    "wide object": json.dumps({f"k{one}": one for one in range(WIDE)}).encode(),
    "many kinds": json.dumps(
        [*({"a": n} for n in range(500)), *map(str, range(WIDE))]
    ).encode(),
    "long number": b"[" + b"9" * 500_000 + b"]",
    "long text": json.dumps({"name": "n" * 500_000}).encode(),
    "half a character": b'{"name": "\\ud800"}',
    "no text": b'{"name": "\xff\xfe"}',
}
# The same one step further in, where a field is that a route may look at.
KNOWN_FIELDS = (
    *("name", "inventories", "allocations", "aggregates", "traits", "request_spec"),
    *("instances", "instance_uuids", "facts", "hosts", "metrics", "policies"),
)


def routes() -> Iterator[tuple[str, str]]:
    """Method and path of everything that may have a body."""
    table = [(method, path) for path, methods in ROUTES.items() for method in methods]
    native = [(one.method, one.path) for one in OPERATIONS]
    for method, path in dict.fromkeys((*table, *native)):
        if method in ("POST", "PUT"):
            yield method, re.sub(r"{(\w+)}", lambda found: FIELDS[found[1]], path)


@pytest.mark.parametrize("route", [*routes()], ids=" ".join)
def test_deep_and_wide_json_is_refused_in_few_words(
    service: Service, route: tuple[str, str]
) -> None:
    inner = {f"in {name}": _within(name) for name in KNOWN_FIELDS}
    for what, raw in {**HOSTILE, **inner}.items():
        status, answer = service.ask(*route, raw)
        assert status < 500, (what, status, answer[:300])
        assert len(answer) <= LONGEST_ANSWER, (what, status)


def _within(name: str) -> bytes:
    deep = b"[" * 2_000 + b"]" * 2_000
    return b'{"%s":%s}' % (name.encode(), deep)


def test_callers_beside_deep_and_wide_json_are_answered(
    service: Service, idle: Beside
) -> None:
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            for raw in HOSTILE.values():
                service.ask("POST", "/allocations", raw)

    with ThreadPoolExecutor(4) as pool:
        attacks = [pool.submit(go_on) for _ in range(4)]
        found = beside.measure(service.port, 3)
        stop.set()
    assert all(each.exception() is None for each in attacks)
    lines = "\n".join(told(idle, found))
    assert not any(seen.failures for seen in found.values()), lines
    for name, seen in found.items():
        assert seen.times_slower(idle[name]) <= 60, lines


def huge_names(service: Service) -> tuple[list[tuple[int, int]], float]:
    """Status and length of each answer to huge names sent at once, and how many MB of
    memory they took."""
    raw = json.dumps({"name": "n" * HUGE}).encode()

    def send(_number: int) -> tuple[int, int]:
        status, answer = service.ask("POST", "/resource_providers", raw)
        return status, len(answer)

    service.ask("POST", "/resource_providers", {"name": 1})  # the judge is loaded
    service.forget_peak()
    before = service.memory_mb()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(send, range(AT_ONCE)))
    return answers, service.peak_mb() - before


def test_huge_names_are_refused_before_they_are_read(service: Service) -> None:
    answers, took = huge_names(service)
    assert {status for status, _ in answers} == {413}
    assert max(length for _, length in answers) <= LONGEST_ANSWER
    assert took <= REFUSED_MB


def test_huge_names_that_may_be_read_cost_a_multiple_of_them(tmp_path: Path) -> None:
    options = {"max_body_bytes": 2 * HUGE}
    with attacked(tmp_path, options=options) as service:
        answers, took = huge_names(service)
    # Not all of them, where all bodies together have a limit too.
    assert {400} <= {status for status, _ in answers} <= {400, 503}
    assert max(length for _, length in answers) <= LONGEST_ANSWER
    assert took <= FACTOR * AT_ONCE * HUGE / 2**20, f"{took:.0f} MB"
