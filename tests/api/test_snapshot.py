"""GET /gantt/snapshot: all rows, for those who may, and for few at a time."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.api.app import build_app
from gantt.api.watchers import Watchers
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.replay.snapshots import of_lines
from tests.api.wsgi_client import WsgiClient


def test_it_is_all_of_the_books_at_one_revision() -> None:
    with open_gantt("memory://") as books:
        books.create_trait("CUSTOM_A")
        client = WsgiClient(build_app(books, load(environ={}, default_auth="noauth2")))
        found = client("GET", "/gantt/snapshot")
        assert found.status == 200
        assert found.headers["content-type"] == "application/x-ndjson"
        snapshot = of_lines(found.body.splitlines(keepends=True), "here")
        assert snapshot.cursor.revision == books.revision
        names = [row.name for row in snapshot.rows["traits"]]  # type: ignore[union-attr]
        assert "CUSTOM_A" in names


def test_there_are_few_at_a_time() -> None:
    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://") as books:
        watchers = Watchers(1)
        client = WsgiClient(build_app(books, settings, watchers=watchers))
        assert watchers.enter()
        assert client("GET", "/gantt/snapshot").status == 503
        watchers.leave()
        for _ in range(2):  # each gives its place back
            found = client("GET", "/gantt/snapshot")
            assert found.status == 200
        slow = replace(settings, api=replace(settings.api, watch_stream_s=-1.0))
        client = WsgiClient(build_app(books, slow))
        found = client("GET", "/gantt/snapshot")
        assert b'["closed"' not in found.body
