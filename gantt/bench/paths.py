"""The paths that are asked most, each as a function that does one request: selections
and reports by the library, and the Placement API through the whole WSGI application.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from gantt.api.app import build_app
from gantt.bench.bare_threads import bare_threads
from gantt.bench.bench_fleets import INSTANCE, BenchFleet, Host, uuid_of
from gantt.bench.fleet_setup import furnish, stats_of
from gantt.bench.gantt_side import GanttSide, filters_of, open_books
from gantt.bench.path_profile import Act, PathProfile, profile
from gantt.bench.placement_side import path_of
from gantt.bench.workloads import Ask
from gantt.conf import load
from gantt.engine.gantt import Gantt

PATHS: Final = (
    "select, in memory",
    "select, durable",
    "select into a group, durable",
    "GET /allocation_candidates",
    "PUT /allocations",
    "report, unchanged",
    "report, changed",
    "GET inventories",
    "GET usages",
)
REQUESTS: Final = 1_500
_STRIDE: Final = 7_919
Progress = Callable[[str, int, int], None]


class Wsgi:
    """Requests to the application over ``books``, without a server."""

    def __init__(self, books: Gantt) -> None:
        self._app = build_app(books, load(environ={}, default_auth="noauth2"))
        self.status = ""

    def ask(
        self, method: str, path: str, body: bytes = b"", version: int = 39
    ) -> bytes:
        """The body of the answer at a microversion. Raises RuntimeError unless its
        ``status`` is 2xx."""
        environ = _environ(method, path, body, version)
        answer = b"".join(self._app(environ, self._started))
        if not self.status.startswith("2"):
            raise RuntimeError(f"{method} {path}: {self.status} {answer[:500]!r}")
        return answer

    def _started(self, status: str, *_: object) -> None:
        self.status = status


def _environ(method: str, path: str, body: bytes, version: int) -> dict[str, Any]:
    before, _, query = path.partition("?")
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": before,
        "QUERY_STRING": query,
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8778",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": "application/json" if body else "",
        "CONTENT_LENGTH": str(len(body)) if body else "",
        "HTTP_X_AUTH_TOKEN": "admin",
        "HTTP_X_ROLES": "admin,service",
        "HTTP_OPENSTACK_API_VERSION": f"placement 1.{version}",
        "HTTP_ACCEPT": "application/json",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    }


def profiles(
    fleet: BenchFleet, folder: Path, progress: Progress, requests: int = REQUESTS
) -> Iterator[PathProfile]:
    """Every path, on ``fleet``, and what it is to be compared with; a database is made
    in ``folder``."""
    urls = ("memory://", f"sqlite:///{folder / 'profile.db'}")
    done, of = 0, len(PATHS) + 1
    for url in urls:
        with opened(url, fleet, progress) as books:
            for name, act in acts(books, fleet).items():
                is_memory = name == PATHS[0]
                if is_memory == (url == urls[0]):
                    yield profile(name, act, requests)
                    done += 1
                    progress("paths", done, of)
    yield bare_threads(requests)
    progress("paths", of, of)


@contextmanager
def opened(url: str, fleet: BenchFleet, progress: Progress) -> Iterator[Gantt]:
    """Books at ``url`` with ``fleet``."""
    books = open_books(url, filters_of(fleet))
    try:
        furnish(books, fleet, lambda done, of: progress("hosts", done, of))
        yield books
    finally:
        books.close()


def acts(books: Gantt, fleet: BenchFleet) -> dict[str, Act]:
    """Path -> one request of it."""
    side, wsgi, hosts = GanttSide("gantt", books), Wsgi(books), fleet.hosts

    def host(number: int) -> Host:
        return hosts[place_among(len(hosts), number)]

    def select(path: int) -> Act:
        return lambda number: side.place(_small(number, path))

    def select_in_group(number: int) -> object:
        return side.place(_small(number, 2, group=number // 4))

    def claim(number: int) -> object:
        return wsgi.ask("PUT", *_claim(host(number), number))

    def report(number: int, used: int = 0) -> object:
        one = host(number)
        stats = msgspec.structs.replace(stats_of(one), memory_mb_used=used)
        return books.update_host(one.name, one.name, stats)

    candidates = path_of(_small(0, 0))
    providers = "/resource_providers"
    return {
        PATHS[0]: select(0),
        PATHS[1]: select(1),
        PATHS[2]: select_in_group,
        PATHS[3]: lambda _: wsgi.ask("GET", candidates),
        PATHS[4]: claim,
        PATHS[5]: report,
        PATHS[6]: lambda number: report(number, 1 + number),
        PATHS[7]: lambda number: wsgi.ask(
            "GET", f"{providers}/{host(number).uuid}/inventories"
        ),
        PATHS[8]: lambda number: wsgi.ask(
            "GET", f"{providers}/{host(number).uuid}/usages"
        ),
    }


_ROUND: Final = 1_000_000


def place_among(hosts: int, number: int) -> int:
    """The host of a request, mostly far from the last one; all have their turn."""
    stride = _STRIDE if hosts % _STRIDE else 1
    return number * stride % hosts


def _small(number: int, path: int, *, group: int = -1) -> Ask:
    """A small instance; ``path`` keeps those of several paths apart."""
    return Ask(_ROUND * path + number, 1, 512, 1, group=group)


def _claim(host: Host, number: int) -> tuple[str, bytes]:
    consumer = uuid_of(INSTANCE, _ROUND * 3 + number)
    amounts = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    body = {
        "allocations": {host.uuid: {"resources": amounts}},
        "project_id": "bench",
        "user_id": "bench",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return f"/allocations/{consumer}", msgspec.json.encode(body)
