"""Two processes on one SQLite file: every batch is stored, each at its own revision."""

from __future__ import annotations

import subprocess
import sys

from gantt.model import rows
from gantt.model.changes import Cursor
from gantt.store import Store, open_store, schema
from tests.store import books

BATCHES, PER_BATCH = 40, 3

PROGRAM = """
import sys
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import TRAITS, NameRow
from gantt.store import Store, open_store

url, first, batches, size = sys.argv[1], *map(int, sys.argv[2:])
store = open_store(url)
known, number = Cursor(), first
for count in range(batches):
    transaction = store.begin()
    tail = transaction.tail(known)
    assert tail is not None
    known = Cursor(tail[-1].revision, tail[-1].batch) if tail else known
    batch, entries = f"{first}-{count}", []
    for place in range(size):
        row = NameRow(number, f"CUSTOM_{number}", None, None)
        entries.append(LogEntry(known.revision + 1 + place, batch, 0, "Test", "",
                                (Change(TRAITS, number, None, row),)))
        number += 1
    transaction.write(entries)
    transaction.commit()
    known = Cursor(entries[-1].revision, batch)
store.close()
"""


def test_two_writers_lose_no_batch(url: str) -> None:
    schema.sync(url)
    sizes = (str(BATCHES), str(PER_BATCH))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, url, first, *sizes], stderr=subprocess.PIPE
        )
        for first in ("1000", "2000")
    ]
    for writer in writers:
        _, told = writer.communicate(timeout=60)
        assert writer.returncode == 0, told.decode()
    store = open_store(url)
    log = store.tail(Cursor())
    assert log is not None
    total = BATCHES * PER_BATCH
    assert [entry.revision for entry in log] == list(range(1, 2 * total + 1))
    wanted = [*range(1000, 1000 + total), *range(2000, 2000 + total)]
    assert [row.id for row in _traits(store)] == wanted
    logged = sorted(change.key for entry in log for change in entry.changes)
    assert logged == wanted
    store.close()


def _traits(store: Store) -> list[rows.NameRow]:
    found = books.contents(store)[rows.TRAITS]
    return [row for row in found if isinstance(row, rows.NameRow)]


def test_processes_can_create_the_tables_at_once(url: str) -> None:
    program = "import sys; from gantt.store import schema; schema.sync(sys.argv[1])"
    makers = [
        subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for maker in makers:
        _, told = maker.communicate(timeout=60)
        assert maker.returncode == 0, told.decode()
    schema.check(url)
