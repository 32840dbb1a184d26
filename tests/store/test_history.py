"""Pages of the log for watchers, and leadership, on every store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.errors import Gone
from gantt.model.changes import Cursor
from gantt.model.rows import TRAITS
from gantt.store import Store, StoreOptions, open_store
from gantt.store.changelog import history
from gantt.store.changelog.log_pages import PAGE
from gantt.store.interface import Lead
from tests.databases import Databases
from tests.kinds import KINDS
from tests.store import books


@pytest.fixture(params=["memory", *KINDS])
def store(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path
) -> Iterator[Store]:
    with contextlib.ExitStack() as stack:
        url = "memory://"
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path / 'books.db'}"
        elif request.param != "memory":
            url = stack.enter_context(databases.database(request.param))
        found = open_store(url, StoreOptions(create=url != "memory://"))
        yield found
        found.close()


def fill(store: Store, count: int) -> Cursor:
    return books.write(
        store,
        *(
            books.made(TRAITS, books.name_row(number, f"CUSTOM_{number}"))
            for number in range(1, count + 1)
        ),
    )


def test_pages_cover_the_whole_log(store: Store) -> None:
    assert store.history(Cursor()).entries == []
    end = fill(store, PAGE + 7)
    first = store.history(Cursor())
    assert [one.revision for one in first.entries] == list(range(1, PAGE + 1))
    second = store.history(Cursor(PAGE, end.batch[:8]))
    assert second.start == Cursor(PAGE, end.batch)
    assert [one.revision for one in second.entries] == list(range(PAGE + 1, PAGE + 8))
    last = store.history(Cursor(end.revision))
    assert (last.start, list(last.entries)) == (end, [])
    assert first.entries[0].changes[0].new == books.name_row(1, "CUSTOM_1")


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_a_page_of_long_revisions_has_fewer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = fill(store, 20)
    monkeypatch.setattr(history, "MOST_BYTES", 200)
    place, seen = Cursor(), list[int]()
    while found := store.history(place).entries:
        assert len(found) < 10
        seen += [one.revision for one in found]
        place = Cursor(found[-1].revision)
    assert seen == list(range(1, 21))
    assert place.revision == end.revision
    monkeypatch.setattr(history, "MOST_BYTES", 0)
    assert len(store.history(Cursor(5)).entries) == 1


def test_a_cursor_of_another_history_is_gone(store: Store) -> None:
    end = fill(store, 3)
    with pytest.raises(Gone, match="has another batch at revision 2"):
        store.history(Cursor(2, "no" + end.batch))
    with pytest.raises(Gone, match="has not reached revision 9: 9-abcd"):
        store.history(Cursor(9, "abcd"))


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_a_compacted_revision_is_gone(store: Store) -> None:
    end = fill(store, 9)
    store.compact(4)
    for lost in (Cursor(), Cursor(1), Cursor(5, end.batch)):
        with pytest.raises(Gone, match=r"no longer in the log, which begins at 6"):
            store.history(lost)
    assert len(store.history(Cursor(6)).entries) == 3


def test_only_one_of_two_processes_can_lead(store: Store) -> None:
    seen = store.leader()
    assert seen == Lead()
    mine = store.lead("a", seen)
    assert mine == Lead("a", 1)
    assert store.lead("b", seen) is None
    assert store.leader() == mine
    again = store.lead("a", mine)
    assert again == Lead("a", 2)
    taken = store.lead("b", again)
    assert taken == Lead("b", 3)
    assert store.lead("a", again) is None
    assert store.lead("", taken) == store.leader() == Lead("", 4)
