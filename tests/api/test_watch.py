"""Watching over HTTP: events as a stream or in pages, and limits."""

from __future__ import annotations

import io
import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.api.app import build_app
from gantt.api.middleware import WsgiApp
from gantt.api.watchers import Watchers
from gantt.conf import ApiOptions, Settings, load
from gantt.engine.gantt import Gantt
from gantt.errors import Gone, StoreFailed
from tests.api.wsgi_client import WsgiClient


def settings(**changes: Any) -> Settings:
    found = load(environ={}, default_auth="noauth2")
    return replace(found, api=replace(found.api, **changes))


Build = Callable[..., WsgiApp]


@pytest.fixture
def build(books: Gantt) -> Build:
    return lambda watchers=None, **changes: build_app(
        books, settings(**changes), watchers=watchers
    )


class Opened:
    """A stream as a server holds it."""

    def __init__(self, app: WsgiApp, target: str, **headers: str) -> None:
        path, _, query = target.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "x",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_ACCEPT": "text/event-stream",
            **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
        }
        self.status = ""
        self.headers: dict[str, str] = {}
        self._body = app(environ, self._start)
        self._chunks = iter(self._body)

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        self.status, self.headers = status, dict(headers)

    def read(self) -> bytes:
        return next(self._chunks)

    def events(self, count: int) -> list[dict[str, Any]]:
        """The next events, each with its id."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            for block in self.read().decode().split("\n\n"):
                lines = dict(line.split(": ", 1) for line in block.split("\n") if line)
                if "data" in lines:
                    event = json.loads(lines["data"])
                    assert lines["id"] == event["id"]
                    found.append(event)
        return found

    def close(self) -> None:
        self._body.close()  # type: ignore[attr-defined]


def test_stream_has_past_and_new_events(books: Gantt, build: Build) -> None:
    since = books.revision
    books.create_provider("one")
    stream = Opened(build(), f"/gantt/watch?since={since}")
    assert stream.status.startswith("200")
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.headers["x-openstack-request-id"].startswith("req-")
    # A client that loses its connection here must not resume after the event.
    assert stream.read() == b"retry: 1000\n\n"
    (first,) = stream.events(1)
    books.create_provider("two")
    (second,) = stream.events(1)
    assert [first["revision"], second["revision"]] == [since + 1, since + 2]
    assert first["changes"][0]["row"]["name"] == "one"
    stream.close()


def test_last_event_id_precedes_the_query(books: Gantt, build: Build) -> None:
    for name in "abc":
        books.create_provider(name)
    app, end = build(), books.revision
    (last,) = Opened(app, f"/gantt/watch?since={end - 1}").events(1)
    again = Opened(app, "/gantt/watch?since=1", last_event_id=last["id"])
    books.create_provider("d")
    assert again.events(1)[0]["revision"] == end + 1


def test_stream_without_since_begins_with_the_current_id(
    books: Gantt, build: Build
) -> None:
    stream = Opened(build(watch_heartbeat_s=0.1), "/gantt/watch")
    opening = stream.read().decode()
    assert opening.startswith("retry: 1000\nid: ")
    cursor = opening.rpartition("id: ")[2].strip()
    assert stream.read().startswith(b": ")  # a sign of life
    books.create_provider("later")
    assert [one.kind for one in books.events(cursor).events] == ["CreateProvider"]


def test_page_waits_for_the_first_event(books: Gantt, build: Build) -> None:
    client = WsgiClient(build())
    start = client("GET", "/gantt/watch?wait=0").json
    assert start["events"] == []
    began = time.monotonic()
    assert client("GET", f"/gantt/watch?wait=0.7&since={start['cursor']}").json == start
    assert time.monotonic() - began >= 0.7
    books.create_provider("one")
    found = client("GET", f"/gantt/watch?wait=30&since={start['cursor']}").json
    assert [one["kind"] for one in found["events"]] == ["CreateProvider"]
    assert found["cursor"] == found["events"][-1]["id"]


@pytest.mark.parametrize("form", ["", "&wait=1"])
def test_id_of_another_history_is_410(books: Gantt, build: Build, form: str) -> None:
    books.create_provider("one")
    client = WsgiClient(build())
    found = client("GET", f"/gantt/watch?since=1-00000000{form}")
    assert found.status == 410
    assert found.json["errors"][0]["code"] == "gantt.gone"
    assert "has another batch at revision 1" in found.detail
    assert "Load what you need again" in found.detail


@pytest.mark.parametrize(
    "query", ["since=x", "since=", "wait=-1", "wait=61", "wait=x", "until=3"]
)
def test_invalid_queries_are_refused(build: Build, query: str) -> None:
    assert WsgiClient(build())("GET", f"/gantt/watch?{query}").status == 400


def test_number_of_watchers_is_limited(build: Build) -> None:
    watchers = Watchers(2)
    app = build(watchers)
    client = WsgiClient(app)
    streams = [Opened(app, "/gantt/watch") for _ in range(2)]
    for query in ("", "?wait=1"):
        refused = client("GET", f"/gantt/watch{query}")
        assert refused.status == 503
        assert refused.headers["retry-after"] == "5"
        assert "already serves 2 watchers" in refused.detail
    streams[0].close()
    streams[0].close()
    assert client("GET", "/gantt/watch?wait=0").status == 200
    assert client("GET", "/gantt/watch?since=nonsense").status == 400
    assert watchers.counts() == {
        "watchers": 1,
        "watchers_limit": 2,
        "watchers_turned_away": 2,
        "watch_streams_cut": 0,
    }


def test_streams_end_on_drain_and_timeout(
    build: Build,
) -> None:
    draining = itertools.chain([False], itertools.repeat(True))
    stream = Opened(build(Watchers(1, lambda: next(draining))), "/gantt/watch")
    assert len(list(iter(lambda: next(stream._chunks, None), None))) == 1
    short = Opened(build(watch_stream_s=1), "/gantt/watch")
    assert len(list(iter(lambda: next(short._chunks, None), None))) >= 1


def test_stream_ends_at_its_limit_of_bytes(books: Gantt, build: Build) -> None:
    watchers = Watchers(1)
    stream = Opened(build(watchers, watch_stream_bytes=1024), "/gantt/watch")
    stream.read()
    for number in range(40):
        books.create_provider(f"host-{number}")
    told = b"".join(iter(lambda: next(stream._chunks, b""), b""))
    assert len(told) >= 1024
    assert watchers.counts()["watch_streams_cut"] == 1
    # The client gets the rest when it resumes.
    last = told.rpartition(b"id: ")[2].partition(b"\n")[0].decode()
    more = Opened(build(), "/gantt/watch", HTTP_LAST_EVENT_ID=last)
    books.create_provider("one more")
    assert b"one more" in more.read() + more.read()


def test_stream_reports_compaction_and_survives_an_outage(
    books: Gantt, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Opened(build(), "/gantt/watch")
    stream.read()
    failures = iter([StoreFailed("away"), Gone("no more")])

    def fail(since: object, *, wait_s: float = 0) -> None:
        raise next(failures)

    monkeypatch.setattr(books, "events", fail)
    assert stream.read() == b": the database does not answer\n\n"
    assert stream.read() == b'event: gone\ndata: {"detail":"no more"}\n\n'
    with pytest.raises(StopIteration):
        stream.read()


def test_options_have_their_defaults() -> None:
    assert ApiOptions().watch_heartbeat_s == 5
    assert load(environ={}).serve.watchers == 16
