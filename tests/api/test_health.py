"""Liveness, readiness and draining; probes need no token."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.api.app import build_app
from gantt.api.watchers import Watchers
from gantt.conf import load
from gantt.engine.gantt import Gantt
from gantt.errors import StoreFailed
from tests.api.wsgi_client import WsgiClient


def client_of(books: Gantt, watchers: Watchers | None = None) -> WsgiClient:
    settings = load(environ={}, default_auth="noauth2")
    return WsgiClient(build_app(books, settings, watchers=watchers), token=None)


@pytest.mark.parametrize("path", ["/healthcheck", "/livez", "/readyz"])
@pytest.mark.parametrize("prefix", ["", "/placement"])
def test_healthy_process_is_live_and_ready(
    books: Gantt, path: str, prefix: str
) -> None:
    found = client_of(books)("GET", prefix + path)
    assert (found.status, found.text) == (200, "OK")
    assert found.headers["cache-control"] == "no-store"
    assert client_of(books)("HEAD", prefix + path).body == b""


def test_process_stays_live_without_database(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreFailed("host db.internal refused user secret")

    client = client_of(books)
    monkeypatch.setattr(books._store, "cursor", fail)
    for path in ("/readyz", "/healthcheck"):
        found = client("GET", path)
        assert found.status == 503
        # Probes need no token, so the exact reason is only logged.
        assert found.text == "NOT READY: the books cannot be read; the log says why"
    assert client("GET", "/livez").status == 200


def test_draining_process_is_unready_and_still_answers(books: Gantt) -> None:
    client = client_of(books, Watchers(4, lambda: True))
    for path in ("/readyz", "/healthcheck"):
        found = client("GET", path)
        assert (found.status, found.text) == (503, "NOT READY: draining")
    assert client("GET", "/livez").status == 200
    assert client("GET", "/").status == 200


def test_closed_engine_is_unready(books: Gantt) -> None:
    client = client_of(books)
    books.close()
    assert client("GET", "/readyz").status == 503


def test_limit_of_watchers_follows_threads() -> None:
    options = load(environ={}).serve
    assert replace(options, blocking_threads=10).watchers == 2
    assert replace(options, blocking_threads=1).watchers == 1
