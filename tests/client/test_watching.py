"""Watching a service equals watching in process."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from gantt.client.remote import RemoteGantt
from gantt.errors import Gone, Invalid
from tests.live import served


def test_remote_watch_yields_every_revision_once(tmp_path: Path) -> None:
    with served(tmp_path) as live:
        books = RemoteGantt(live.url)
        start = books.events()
        assert start.events == ()
        watch = books.watch(start.cursor)
        names = [f"host-{number}" for number in range(130)]
        for name in names:
            books.create_provider(name)
        heard = list(islice(watch, len(names)))
        revision = int(start.cursor.partition("-")[0])
        assert [e.revision for e in heard] == list(range(revision + 1, revision + 131))
        rows = [event.changes[0].row or {} for event in heard]
        assert [row["name"] for row in rows] == names
        assert books.events(heard[-2].id).events == (heard[-1],)
        with pytest.raises(Gone, match="another history"):
            books.events(f"{heard[5].revision}-00000000")
        with pytest.raises(Invalid, match="not a position in the log"):
            books.events("x")
        books.close()
