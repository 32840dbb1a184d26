"""Watchers hear every durable revision once, in order, from wherever they stood."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any
from uuid import UUID

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Gone, Invalid
from gantt.model import commands as c
from gantt.model.changes import Cursor
from gantt.model.rows import Key
from gantt.model.watching import Event, RowChange
from gantt.store import StoreOptions, open_store
from gantt.store.changelog.log_pages import PAGE
from gantt.store.interface import Page
from tests.databases import execute
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create

HOST = create(1).uuid


def revisions(events: tuple[Event, ...]) -> list[int]:
    return [one.revision for one in events]


def test_events_come_in_pages_without_a_gap(books: Gantt) -> None:
    for number in range(1, PAGE + 6):
        books.submit(create(number), f"req-{number}")
    first = books.events(0)
    second = books.events(first.cursor)
    assert revisions(first.events + second.events) == list(range(1, PAGE + 6))
    assert second.cursor == second.events[-1].id
    assert books.events(second.cursor).events == ()
    assert revisions(books.events(PAGE + 3).events) == [PAGE + 4, PAGE + 5]
    assert [one.request_id for one in first.events[:2]] == ["req-1", "req-2"]


def test_an_event_has_the_request_the_command_and_the_rows(books: Gantt) -> None:
    books.submit(c.CreateResourceClass("CUSTOM_SLOT"))
    books.submit(create(1), "req-mine")
    books.submit(c.SetInventories(HOST, {"CUSTOM_SLOT": c.Inventory(4)}))
    books.submit(c.CreateTrait("CUSTOM_A"))
    books.submit(c.SetTraits(HOST, ("CUSTOM_A",)))
    books.submit(c.SetTraits(HOST, ()))
    made, stock, _, borne, bared = books.events(1).events
    assert (made.kind, made.request_id) == ("CreateProvider", "req-mine")
    (row,) = made.changes
    assert row.row is not None
    assert (row.table, row.row["uuid"]) == ("resource_providers", HOST)
    inventory = next(one for one in stock.changes if one.table == "inventories")
    assert inventory.row is not None
    assert inventory.row["total"] == 4
    assert inventory.names == {
        "resource_provider": HOST,
        "resource_class": "CUSTOM_SLOT",
    }
    link = next(o for o in borne.changes if o.table == "resource_provider_traits")
    assert link.row is not None
    assert link.names == {"resource_provider": HOST, "trait": "CUSTOM_A"}
    assert link.row["trait_id"] == link.key[1]  # type: ignore[index]
    gone = next(o for o in bared.changes if o.table == "resource_provider_traits")
    assert (gone.key, gone.row, gone.names) == (link.key, None, link.names)


def test_the_name_of_a_deleted_row_is_left_out(books: Gantt) -> None:
    books.submit(create(1))
    books.submit(c.DeleteProvider(HOST))
    made, gone = books.events(0).events
    assert made.changes[0].row is not None
    assert made.changes[0].names == {}
    assert gone.changes[0].row is None
    assert gone.changes[0].key == made.changes[0].key


def test_watch_waits_for_new_events(books: Gantt) -> None:
    start = books.events()
    assert start.events == ()
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(books.events, start.cursor, wait_s=20)
        time.sleep(0.05)
        books.submit(create(1))
        assert revisions(heard.result(20).events) == [1]
    began = time.monotonic()
    assert books.events(1, wait_s=0.3).events == ()
    assert time.monotonic() - began >= 0.3


def test_no_event_before_it_is_durable(books: Gantt, store: FaultyStore) -> None:
    hold = store.hold("commit")
    with ThreadPoolExecutor(2) as pool:
        written = pool.submit(books.submit, create(1))
        hold.wait()
        assert books.events(0, wait_s=0.3).events == ()
        heard = pool.submit(books.events, 0, wait_s=20)
        hold.release()
        written.result(20)
        assert revisions(heard.result(20).events) == [1]


def test_a_watch_has_what_another_process_commits(url: str, connect: Connect) -> None:
    one, two = connect(opened(url)), connect(opened(url))
    watch = one.watch(0)
    heard: list[Event] = []
    done = threading.Event()

    def listen() -> None:
        heard.extend(islice(watch, 60))
        done.set()

    threading.Thread(target=listen, daemon=True).start()
    for number in range(1, 61):
        (one, two)[number % 2].submit(create(number))
    assert done.wait(20)
    assert revisions(tuple(heard)) == list(range(1, 61))
    assert [row.row["name"] for e in heard for row in e.changes if row.row] == [
        create(number).name for number in range(1, 61)
    ]


def test_many_watchers_at_the_end_share_one_read(
    books: Gantt, store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.submit(create(1))
    asked = []
    real = store.inner.history

    def history(after: Cursor) -> Page:
        page = real(after)
        asked.append(after)  # now that it has found nothing
        return page

    monkeypatch.setattr(store.inner, "history", history)
    with ThreadPoolExecutor(8) as pool:
        heard = [pool.submit(books.events, 1, wait_s=20) for _ in range(8)]
        while len(asked) < 8:
            time.sleep(0.01)
        books.submit(create(2))
        assert {revisions(one.result(20).events)[0] for one in heard} == {2}
    assert len(asked) == 9


def test_watch_ends_when_the_engine_closes(books: Gantt) -> None:
    watch = books.watch()
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(list, watch)
        time.sleep(0.05)
        books.close()
        assert heard.result(10) == []


@pytest.mark.parametrize("place", ["", "x", "-1", "1-", "1-XYZ", "1.5", "9" * 30])
def test_invalid_cursor_is_refused(books: Gantt, place: str) -> None:
    with pytest.raises(Invalid, match="not a position in the log"):
        books.events(place)


def test_cursor_of_another_history_is_gone(books: Gantt) -> None:
    for number in range(1, 4):
        books.submit(create(number))
    with pytest.raises(Gone, match="has another batch at revision 2"):
        books.events("2-00000000", wait_s=5)
    with pytest.raises(Gone, match="has not reached revision 7"):
        books.events("7", wait_s=5)


def test_a_waiting_watcher_learns_of_compaction(url: str, connect: Connect) -> None:
    books = connect(opened(url))
    for number in range(1, 8):
        books.submit(create(number))
    place = books.events(2).events[0].id
    open_store(url, StoreOptions()).compact(3)
    with pytest.raises(Gone, match="begins at 5: older revisions were compacted"):
        books.events(place)
    with pytest.raises(Gone, match="begins at 5"):
        books.events(0)


def test_a_waiting_watcher_learns_of_a_restored_backup(
    url: str, connect: Connect
) -> None:
    books = connect(opened(url))
    for number in range(1, 5):
        books.submit(create(number))
    place = books.events().cursor
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(books.events, place, wait_s=20)
        time.sleep(0.2)
        execute(url, "DELETE FROM gantt_log WHERE revision > 2")
        with pytest.raises(Gone, match="another history"):
            heard.result(20)
    assert books.counts()["reloads"] == 1


def tables(rows: Iterable[RowChange]) -> dict[tuple[str, Key], dict[str, Any]]:
    """What ``rows`` lead to, in order."""
    found: dict[tuple[str, Key], dict[str, Any]] = {}
    for one in rows:
        if one.row is None:
            del found[one.table, one.key]
        else:
            found[one.table, one.key] = one.row
    return found


def test_a_snapshot_is_what_the_events_lead_to(url: str, connect: Connect) -> None:
    books = connect(opened(url))
    books.submit(c.CreateResourceClass("CUSTOM_SLOT"))
    books.submit(create(1))
    books.submit(create(2))
    books.submit(c.SetInventories(HOST, {"CUSTOM_SLOT": c.Inventory(4)}))
    books.submit(c.CreateTrait("CUSTOM_A"))
    books.submit(c.SetTraits(HOST, ("CUSTOM_A",)))
    books.submit(c.DeleteProvider(create(2).uuid))
    snapshot = books.snapshot()
    books.submit(create(3))
    events = books.events(0).events
    assert (snapshot.revision, snapshot.cursor) == (7, events[6].id)
    rows = [one for page in snapshot.pages for one in page]
    assert tables(rows) == tables(row for event in events[:7] for row in event.changes)
    inventory = next(one for one in rows if one.table == "inventories")
    assert inventory.names == {
        "resource_provider": HOST,
        "resource_class": "CUSTOM_SLOT",
    }
    assert revisions(books.events(snapshot.cursor).events) == [8]


def test_books_are_known_by_their_identity(url: str, connect: Connect) -> None:
    one, two = connect(opened(url)), connect(opened(url))
    assert str(UUID(one.identity())) == one.identity()
    assert one.identity() == two.identity()
    assert connect(opened("memory://")).identity() != one.identity()
