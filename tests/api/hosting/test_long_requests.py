"""Requests that have threads of their own are those that search, count or list."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gantt.api.routes import ROUTES, work_of
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from tests.api.native.fleet import SPEC, client_of, report

UUID = "00000000-0000-4000-8000-000000000001"
FIELDS = {"resource_class": "VCPU", "host": "one", "node": "one"}
SEARCH = "?resources=VCPU:1"
# Queries for paths that are not requested without one only.
QUERIES = {
    "/resource_providers": [
        "",
        "?name=",
        f"?uuid={UUID}",
        f"?in_tree={UUID}",
        "?name=one",
        "?name=one&name=",
        "?name=&name=one",
        "?resources=VCPU:1",
    ],
    "/gantt/host": ["?host=one"],
    "/gantt/hosts": ["", "?host=one", "?node=one"],
    "/gantt/watch": ["?wait=0"],
    "/gantt/usage-history": ["?resource_class=VCPU"],
    "/gantt/decisions": ["", "?limit=1"],
    "/usages": ["?project_id=blue", "?project_id=blue&user_id=ann"],
    "/allocation_candidates": [SEARCH],
    "/gantt/candidates/explain": [SEARCH],
}
POSTS: dict[str, Any] = {
    "/gantt/select": {"request_spec": SPEC},
    "/gantt/capacity": {"request_spec": SPEC},
    "/gantt/capacity/fair": {"request_specs": [SPEC]},
    "/gantt/capacity/prices": {"request_spec": SPEC},
    "/gantt/capacity/runs-out": {"request_specs": [SPEC]},
}
# Long for other reasons than a search: the database, or the committer.
# Nor do lists take the turn of a search.
ELSEWHERE = {
    "/gantt/audit",
    "/gantt/recent",
    "/gantt/shadow/report",
    "/gantt/verify",
    "/reshaper",
}


class SearchLock:
    """Replaces the lock of searches, and records whether it was taken."""

    def __init__(self) -> None:
        self.is_taken = False
        self._lock = threading.RLock()
        self._caller = threading.current_thread()  # leader tasks search as well

    def acquire(self) -> None:
        self._lock.acquire()
        self.is_taken |= threading.current_thread() is self._caller

    def release(self) -> None:
        self._lock.release()


def asked() -> list[tuple[str, str]]:
    """All reads, and the other requests that search."""
    found = [("POST", path) for path in POSTS]
    for path, methods in ROUTES.items():
        if "GET" in methods:
            names = "HW_CPU_X86_AVX" if path.startswith("/traits") else "VCPU"
            whole = path.format_map(_Fields(FIELDS | {"name": names}))
            found += [("GET", whole + query) for query in QUERIES.get(path, [""])]
    return found


class _Fields(dict[str, str]):
    def __missing__(self, _name: str) -> str:
        return UUID


@pytest.fixture(scope="module")
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as found:
        report(client_of(found), "one")
        yield found


@pytest.mark.parametrize(("method", "target"), asked())
def test_long_requests_are_those_that_search(
    books: Gantt, method: str, target: str
) -> None:
    books._replica.search = lock = SearchLock()  # type: ignore[assignment]
    answer = client_of(books)(method, target, version=39, body=POSTS.get(target))
    parts = urlsplit(target)
    is_look_up = UUID in parts.path
    assert answer.status in ((200, 404) if is_look_up else (200, 204)), answer.text
    work = work_of(method, parts.path, parts.query)
    if parts.path in ELSEWHERE or work == "list":
        assert (work != "quick", lock.is_taken) == (True, False)
    else:
        assert lock.is_taken == (work in ("search", "count"))
