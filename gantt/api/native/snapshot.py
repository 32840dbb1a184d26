"""All of the books and the fleet at one revision, for questions asked elsewhere.

As lines of a record (``gantt.model.record``), streamed: nothing is collected here, and
a slow client delays its own thread alone. It counts as a watcher, whose number is
limited.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import TypeAlias

from gantt.api.call import Call
from gantt.api.native.watch import RETRY_AFTER_S
from gantt.api.wire.problem import Problem

CONTENT_TYPE = "application/x-ndjson"
_CHUNK = 1 << 16
_Bytes: TypeAlias = Generator[bytes, None, None]


def snapshot(call: Call) -> None:
    """GET /gantt/snapshot"""
    watchers = call.door.watchers
    if not watchers.enter():
        raise Problem(
            503,
            f"This process already serves {watchers.limit} watchers and snapshots, "
            "which is its limit. Try again later, or use another process.",
            headers=(("retry-after", str(RETRY_AFTER_S)),),
        )
    is_streaming = False
    try:
        # The first line precedes the first byte, so that a refusal has its status.
        lines = call.gantt.snapshot_lines()
        call.stream = SnapshotStream(call, lines, next(lines))
        call.headers["content-type"] = CONTENT_TYPE
        call.headers["cache-control"] = "no-store"
        is_streaming = True
    finally:
        if not is_streaming:
            watchers.leave()


class SnapshotStream:
    """The chunks of an answer; ``close`` makes room for another. It ends early, without
    its last line, when the server stops or after ``watch_stream_s``."""

    def __init__(
        self, call: Call, lines: Generator[bytes, None, None], first: bytes
    ) -> None:
        self._watchers = call.door.watchers
        self._until = time.monotonic() + call.options.watch_stream_s
        self._chunks = self._run(lines, first)
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except BaseException:  # its end, or that of the database
            self.close()
            raise

    def close(self) -> None:
        """Called by the server when all is sent or the client has gone."""
        if self._is_open:
            self._is_open = False
            self._chunks.close()
            self._watchers.leave()

    def _run(
        self, lines: Generator[bytes, None, None], first: bytes
    ) -> Generator[bytes, None, None]:
        waiting, size = [first], len(first)
        try:
            for line in lines:
                waiting.append(line)
                size += len(line)
                if size >= _CHUNK:
                    yield b"".join(waiting)
                    waiting, size = [], 0
                if self._watchers.is_draining() or time.monotonic() > self._until:
                    return
            yield b"".join(waiting)
        finally:
            lines.close()
