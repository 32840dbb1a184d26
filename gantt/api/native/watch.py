"""The change log over HTTP: as a stream of server-sent events, or page by page.

A stream asks the engine for one page after another and locks nothing while its client
reads: a slow client, or one that has gone, delays only its own thread. A stream ends
after so many bytes that a client which does not read cannot take more memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from gantt.api.call import Call
from gantt.api.native.body_decoder import query
from gantt.api.wire.problem import Problem
from gantt.errors import GanttError, Gone, Unavailable
from gantt.model.operation_bodies import WatchQuery
from gantt.model.watching import Event, Events

RETRY_AFTER_S = 5
# How soon a stream notices that the server is draining.
_TURN_S = 0.5
_RETRY_MS = 1000
# Under load events are sent in batches: waking every watcher for every write would cost
# more than the write. The first event after a pause is sent at once.
_MANY = 50
_PAUSE_S = 0.02

_encode = msgspec.json.Encoder().encode


def watch(call: Call) -> None:
    """GET /gantt/watch"""
    asked = query(call, WatchQuery)
    since = call.environ.get("HTTP_LAST_EVENT_ID") or asked.since
    watchers = call.door.watchers
    if not watchers.enter():
        raise Problem(
            503,
            f"This process already serves {watchers.limit} watchers, "
            "which is its limit. Try again later, or use another process.",
            headers=(("retry-after", str(RETRY_AFTER_S)),),
        )
    is_streaming = False
    try:
        if asked.wait is None:
            # The first page precedes the first byte, so that a refusal has its status.
            stream = EventStream(call, call.gantt.events(since))
            call.headers["content-type"] = "text/event-stream"
            call.headers["cache-control"] = "no-store"
            call.headers["x-accel-buffering"] = "no"
            call.stream = stream
            is_streaming = True
        else:
            call.check_accept()
            call.reply(_encode(_waited(call, since, asked.wait)))
            call.headers["cache-control"] = "no-store"
    finally:
        if not is_streaming:
            watchers.leave()


def _waited(call: Call, since: str | None, wait_s: float) -> Events:
    """A page, after at most ``wait_s``, or sooner if the server is draining."""
    deadline = time.monotonic() + wait_s
    place = since
    while True:
        left_s = deadline - time.monotonic()
        found = call.gantt.events(place, wait_s=max(0.0, min(left_s, _TURN_S)))
        is_over = left_s <= _TURN_S or call.door.watchers.is_draining()
        if found.events or is_over:
            return found
        place = found.cursor


class EventStream:
    """The chunks of an answer; ``close`` makes room for another watcher."""

    def __init__(self, call: Call, first: Events) -> None:
        self._gantt = call.gantt
        self._watchers = call.door.watchers
        self._heartbeat_s = call.options.watch_heartbeat_s
        # A caller must authenticate again from time to time.
        self._until = time.monotonic() + call.options.watch_stream_s
        # The server buffers whatever its client does not read.
        self._bytes_left = call.options.watch_stream_bytes
        self._chunks = self._run(first)
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        """Called by the server when all is sent or the client has gone."""
        if self._is_open:
            self._is_open = False
            self._watchers.leave()

    def _run(self, found: Events) -> Iterator[bytes]:
        # An id without data is no event, but clients resume from it. It must not name
        # an event that is not sent yet: the connection may break in between.
        place = "" if found.events else f"id: {found.cursor}\n"
        yield f"retry: {_RETRY_MS}\n{place}\n".encode()
        sent_at = time.monotonic()
        while True:
            now = time.monotonic()
            if found.events:
                chunk = b"".join(map(_event, found.events))
                self._bytes_left -= len(chunk)
                yield chunk
                if len(found.events) < _MANY:
                    time.sleep(_PAUSE_S)
                sent_at = time.monotonic()
            elif now - sent_at >= self._heartbeat_s:
                yield b": nothing new\n\n"
                sent_at = time.monotonic()
            if self._watchers.is_draining() or now >= self._until:
                return
            if self._bytes_left <= 0:
                self._watchers.cut_off()
                return
            try:
                found = self._gantt.events(found.cursor, wait_s=_TURN_S)
            except Gone as gone:
                yield b"event: gone\ndata: %s\n\n" % _encode({"detail": gone.message})
                return
            except Unavailable:
                yield b": the database does not answer\n\n"
                sent_at = time.monotonic()
                found = Events((), found.cursor)
                time.sleep(_TURN_S)
            except GanttError:
                return


def _event(event: Event) -> bytes:
    return b"id: %s\ndata: %s\n\n" % (event.id.encode(), _encode(event))
