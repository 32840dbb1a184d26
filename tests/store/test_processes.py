"""Two processes on one SQLite file: every batch is stored, each at its own revision."""

from __future__ import annotations

from collections.abc import Callable

from gantt.model import rows
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import TRAITS, NameRow
from gantt.store import Store, open_store, schema
from tests.forks import FORKS
from tests.store import books

BATCHES, PER_BATCH = 40, 3
WAIT_S = 60.0


def _write(url: str, first: int) -> None:
    """All batches, whose rows are numbered from ``first``."""
    store = open_store(url)
    known, number = Cursor(), first
    for count in range(BATCHES):
        transaction = store.begin()
        tail = transaction.tail(known)
        assert tail is not None
        known = Cursor(tail[-1].revision, tail[-1].batch) if tail else known
        batch, entries = f"{first}-{count}", []
        for place in range(PER_BATCH):
            row = NameRow(number, f"CUSTOM_{number}", None, None)
            change = Change(TRAITS, number, None, row)
            revision = known.revision + 1 + place
            entries.append(LogEntry(revision, batch, 0, "Test", "", (change,)))
            number += 1
        transaction.write(entries)
        transaction.commit()
        known = Cursor(entries[-1].revision, batch)
    store.close()


def _at_once(run: Callable[..., object], *each: tuple[object, ...]) -> None:
    """A process for each, with these arguments. A failing one has shown its
    traceback."""
    started = [FORKS.Process(target=run, args=arguments) for arguments in each]
    for one in started:
        one.start()
    for one in started:
        one.join(WAIT_S)
    assert [one.exitcode for one in started] == [0] * len(started)


def test_two_writers_lose_no_batch(url: str) -> None:
    schema.sync(url)
    _at_once(_write, (url, 1000), (url, 2000))
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
    _at_once(schema.sync, *[(url,)] * 3)
    schema.check(url)
