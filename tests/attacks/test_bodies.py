"""Huge names, and deep and wide JSON on every route that takes a body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gantt.api.routes import ROUTES
from gantt.model.operations import OPERATIONS
from tests.attacks.attackers import HUGE_NAME, STRANGE
from tests.attacks.beside import BUSY_MEDIAN, BUSY_WORST, Beside, check_attack
from tests.attacks.service import ADMIN, MEMBER, Service, attacked, provider

AT_ONCE = 8
# An answer has at most what a refusal may quote, twice escaped.
LONGEST_ANSWER = 64_000
# Memory for what a refused body has brought until it was refused.
REFUSED_MB = 40
# The same for deep and wide bodies, which are read and judged.
JUDGED_MB = 200
# Memory for bodies that are read, as a multiple of them all: the bytes twice (server
# and application), their text, its value, and the abridged copy.
FACTOR = 6

FIELDS = {
    "uuid": provider(1),
    "consumer_uuid": provider(1),
    "resource_class": "VCPU",
    "name": "CUSTOM_X",
    "claim": provider(1),
    "host": "host",
    "node": "node",
}
# The same one step further in, where a field is that a route may look at.
KNOWN_FIELDS = tuple(
    (
        "name inventories allocations aggregates traits request_spec instances "
        "instance_uuids facts hosts metrics policies"
    ).split()
)


def routes() -> Iterator[tuple[str, str]]:
    """Method and path of everything that may have a body."""
    table = [(method, path) for path, methods in ROUTES.items() for method in methods]
    native = [(one.method, one.path) for one in OPERATIONS]
    for method, path in dict.fromkeys((*table, *native)):
        if method in ("POST", "PUT"):
            yield method, re.sub(r"{(\w+)}", lambda found: FIELDS[found[1]], path)


@pytest.mark.parametrize("route", [*routes()], ids=" ".join)
def test_deep_and_wide_json_is_refused_briefly(
    service: Service, route: tuple[str, str]
) -> None:
    inner = {f"in {name}": _within(name) for name in KNOWN_FIELDS}
    for what, raw in {**STRANGE, **inner}.items():
        status, answer = service.ask(*route, raw)
        assert status < 500, (what, status, answer[:300])
        assert len(answer) <= LONGEST_ANSWER, (what, status)


def _within(name: str) -> bytes:
    deep = b"[" * 2_000 + b"]" * 2_000
    return b'{"%s":%s}' % (name.encode(), deep)


def test_deep_and_wide_json_does_not_delay_other_callers(
    service: Service, idle: Beside
) -> None:
    limits = {"median": BUSY_MEDIAN, "worst": BUSY_WORST, "most_mb": JUDGED_MB}
    check_attack(service, idle, "strange_json", 4, ADMIN, **limits)


def test_huge_names_do_not_delay_other_callers(service: Service, idle: Beside) -> None:
    limits = {"median": BUSY_MEDIAN, "worst": BUSY_WORST}
    check_attack(service, idle, "huge_names", AT_ONCE, MEMBER, **limits)


def huge_names(service: Service) -> tuple[list[tuple[int, int]], float]:
    """Status and length of each answer to huge names sent at once, and how many MB of
    memory they took."""

    def send(_number: int) -> tuple[int, int]:
        status, answer = service.ask("POST", "/resource_providers", HUGE_NAME)
        return status, len(answer)

    service.ask("POST", "/resource_providers", {"name": 1})  # imports jsonschema
    service.forget_peak()
    before = service.memory_mb()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(send, range(AT_ONCE)))
    return answers, service.peak_mb() - before


def test_huge_names_are_refused_before_parsing(service: Service) -> None:
    answers, took = huge_names(service)
    assert {status for status, _ in answers} == {413}
    assert max(length for _, length in answers) <= LONGEST_ANSWER
    assert took <= REFUSED_MB


def test_huge_names_cost_a_bounded_multiple_of_memory(tmp_path: Path) -> None:
    options = {"max_body_bytes": 2 * len(HUGE_NAME)}
    with attacked(tmp_path, options=options) as service:
        answers, took = huge_names(service)
    # Not all of them, where all bodies together have a limit too.
    assert {400} <= {status for status, _ in answers} <= {400, 503}
    assert max(length for _, length in answers) <= LONGEST_ANSWER
    assert took <= FACTOR * AT_ONCE * len(HUGE_NAME) / 2**20, f"{took:.0f} MB"
