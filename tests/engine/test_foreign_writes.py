"""Tables that others wrote to, logs that no longer continue, and what verify says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing

import pytest

from gantt.engine.clock import SystemClock
from gantt.engine.gantt import Gantt
from gantt.engine.reading.log_tailer import load_state
from gantt.engine.table_check import CHANGED_WHILE_STOPPED, compare_fingerprints
from gantt.errors import Busy, NotFound
from gantt.model.changes import Cursor
from gantt.model.commands import (
    CreateProvider,
    CreateResourceClass,
    CreateTrait,
    Inventory,
    SetInventories,
    SetTraits,
)
from gantt.store.interface import Chunks
from gantt.store.outcomes import DefiniteAbort, ForeignWrite
from tests.databases import execute
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create, names
from tests.kinds import ON_SQLITE

HOST = create(1).uuid
Sql = Callable[..., None]


@pytest.fixture
def sql(url: str) -> Sql:
    """Another program that writes to the database."""

    def write(*statements: str) -> None:
        execute(url, *statements)

    return write


@pytest.fixture
def books(shared: FaultyStore, connect: Connect) -> Gantt:
    books = connect(shared)
    books.submit(CreateResourceClass("CUSTOM_SLOT"))
    books.submit(CreateTrait("CUSTOM_T"))
    books.submit(create(1))
    books.submit(SetInventories(HOST, {"CUSTOM_SLOT": Inventory(4)}))
    return books


RENAMED = "UPDATE resource_providers SET name = 'restored'"
REPLACED = "UPDATE gantt_log SET batch = 'other' WHERE revision = 4"
CUT = "DELETE FROM gantt_log WHERE revision > 2"


@pytest.mark.parametrize("how", [REPLACED, CUT])
def test_reader_detects_another_history(books: Gantt, sql: Sql, how: str) -> None:
    sql(RENAMED, how)
    assert names(books) == ["restored"]
    assert books.counts()["reloads"] == 1
    assert books.revision == (4 if how == REPLACED else 2)
    assert books.verify().problems == ()


@pytest.mark.parametrize(
    ("how", "gone"),
    [
        (REPLACED, "1 acknowledged revision is gone; it still has revision 3-"),
        (CUT, "2 acknowledged revisions are gone; it still has revision 2-"),
        ("UPDATE gantt_log SET batch = 'other'", "4 acknowledged revisions are gone"),
    ],
)
def test_how_much_history_is_lost_is_told(
    books: Gantt, sql: Sql, how: str, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql(how)
    names(books)
    (told,) = (one for one in caplog.messages if "does not continue" in one)
    assert gone in told
    assert books.counts()["lost_revisions"] == int(gone.split(" acknow")[0][-1])


def test_a_process_knows_of_no_more_than_it_saw(
    books: Gantt,
    sql: Sql,
    url: str,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = connect(opened(url))
    books.submit(create(2))
    assert len(names(late)) == 2
    sql("UPDATE gantt_log SET batch = 'other'")
    names(late)
    assert "at least 2 acknowledged revisions are gone." in caplog.text


@pytest.mark.parametrize("how", [REPLACED, CUT])
def test_committer_detects_another_history(books: Gantt, sql: Sql, how: str) -> None:
    sql(RENAMED, how)
    books.submit(create(2, "node-1"))
    assert books.counts()["reloads"] == 1
    assert names(books) == ["restored", "node-1"]
    assert books.verify().problems == ()


def test_an_engine_that_kept_up_survives_compaction(
    books: Gantt, shared: FaultyStore, url: str, connect: Connect
) -> None:
    behind = connect(opened(url))
    for number in range(2, 12):
        books.submit(create(number))
    shared.inner.compact(1)
    assert len(names(books)) == len(names(behind)) == 11
    assert books.counts()["reloads"] == 0
    assert behind.counts()["reloads"] == 1
    assert behind.counts()["lost_revisions"] == 0


def test_foreign_generation_is_detected(books: Gantt, sql: Sql) -> None:
    sql("UPDATE resource_providers SET generation = generation + 7")
    answer = books.submit(SetTraits(HOST, ("CUSTOM_T",)))
    assert answer.generation == 1 + 7 + 1
    assert books.counts()["foreign_writes"] == 1
    assert books.counts()["reloads"] == 1
    assert books.verify().problems == ()


def test_foreign_name_is_detected_without_a_generation(books: Gantt, sql: Sql) -> None:
    sql(RENAMED)
    books.submit(SetTraits(HOST, ("CUSTOM_T",)))
    assert books.counts()["foreign_writes"] == 1
    assert names(books) == ["restored"]
    assert books.verify().problems == ()


def test_row_deleted_by_a_foreign_writer_is_not_rewritten(
    books: Gantt, sql: Sql
) -> None:
    sql(
        "DELETE FROM inventories",
        "UPDATE resource_providers SET root_provider_id = NULL",  # for MariaDB
        "DELETE FROM resource_providers",
    )
    with pytest.raises(NotFound):
        books.submit(SetTraits(HOST, ("CUSTOM_T",)))
    assert names(books) == []
    assert books.verify().problems == ()


def test_an_id_that_a_foreign_writer_took_is_not_given_again(
    books: Gantt, sql: Sql
) -> None:
    sql(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id)"
        " VALUES (2, 'foreign', 'foreign', 3, 2)"
    )
    books.submit(CreateProvider("ours", "ours"))
    assert names(books) == ["node-1", "foreign", "ours"]
    assert books.counts()["foreign_writes"] == 1
    assert books.verify().problems == ()


def test_foreign_write_is_logged(
    books: Gantt, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    sql("UPDATE resource_providers SET generation = generation + 7")
    with caplog.at_level(logging.CRITICAL, "gantt"):
        books.submit(SetTraits(HOST, ("CUSTOM_T",)))
    assert "another program writes to this database" in caplog.text


def test_a_foreign_writer_that_never_stops_leads_to_busy(
    books: Gantt, sql: Sql, shared: FaultyStore
) -> None:
    foreign = "UPDATE resource_providers SET generation = generation + 1"
    shared.always["begin"] = lambda: sql(foreign)
    with pytest.raises(Busy):
        books.submit(SetTraits(HOST, ("CUSTOM_T",)))
    shared.always.clear()
    assert books.submit(SetTraits(HOST, ("CUSTOM_T",))).traits == ("CUSTOM_T",)


@ON_SQLITE
def test_commit_of_another_galera_node_is_not_foreign(
    books: Gantt, shared: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Between the nodes of Galera there is no lock: the log tells who it was."""
    books._background._poller.close()  # the committer alone may ask
    shared.fail("write", ForeignWrite("a row is not as it was known"))
    end, ends = shared.inner.cursor, iter([Cursor(5, "another-node")])
    shared.inner.cursor = lambda: next(ends, None) or end()  # type: ignore[method-assign]
    books.submit(create(2))
    assert caplog.text == ""
    counts = books.counts()
    assert (counts["aborts"], counts["foreign_writes"], counts["reloads"]) == (1, 0, 0)


# -- verify ---------------------------------------------------------------------


def test_verify_finds_no_problems(books: Gantt) -> None:
    report = books.verify()
    assert (report.revision, report.problems) == (4, ())
    assert report.counts["resource_providers"] == 1
    assert report.counts["inventories"] == 1


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE inventories SET total = 5", "inventories"),
        ("UPDATE resource_providers SET generation = 9", "resource_providers"),
        ("DELETE FROM inventories", "inventories"),
        ("INSERT INTO traits (id, name) VALUES (9, 'CUSTOM_X')", "traits"),
        (
            "INSERT INTO resource_provider_traits (resource_provider_id, trait_id)"
            " VALUES (1, 1)",
            "resource_provider_traits",
        ),
    ],
)
def test_verify_names_differences(
    books: Gantt, sql: Sql, statement: str, table: str
) -> None:
    sql(statement)
    (problem,) = books.verify().problems
    assert problem.startswith(f"{table} ")


def test_verify_checks_the_columns(books: Gantt) -> None:
    place = books._replica.state.inventories.slot(0, 0)
    assert place is not None
    place[0].used[place[1]] = 3
    (problem,) = books.verify().problems
    assert "used 3, allocations sum to 0" in problem


def test_verify_catches_up_first(books: Gantt, url: str, connect: Connect) -> None:
    connect(opened(url)).submit(create(2))
    assert books.verify().revision == 5
    assert books.verify().problems == ()


def test_verify_needs_no_lock_and_keeps_up_with_writers(
    books: Gantt, url: str, shared: FaultyStore, connect: Connect
) -> None:
    """A lock could not be kept for as long as a large fleet takes to be loaded."""
    store, other = shared.inner, connect(opened(url))
    load, numbers, meanwhile = store.load, iter(range(2, 100)), [1]

    def load_for_a_while() -> tuple[Cursor, Chunks]:
        """So many revisions come meanwhile; more are not kept."""
        cursor, chunks = load()
        rows = list(chunks)
        for _ in range(meanwhile[0]):
            other.submit(create(next(numbers)))
        if meanwhile[0] > 1:
            store.compact(1)
        return cursor, (one for one in rows)

    store.load = load_for_a_while  # type: ignore[method-assign]
    report = books.verify()
    assert (report.revision, report.problems) == (5, ())
    meanwhile[0] = 2
    with pytest.raises(Busy, match="log_length"):
        books.verify()
    meanwhile[0] = 0
    with closing(opened(url)) as holder:
        transaction = holder.begin()
        assert books.verify().problems == ()
        transaction.rollback()


def test_others_write_and_read_between_what_verify_compares(
    books: Gantt, connect: Connect, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, numbers = connect(opened(url)), iter(range(2, 40))
    clock = books._verifying._clock

    class Writing(SystemClock):
        """While it rests, this process and another write, and delete."""

        def sleep(self, seconds: float) -> None:
            clock.sleep(seconds)
            number = next(numbers, None)
            if number is not None:
                (books, other)[number % 2].submit(create(number))
                if number % 3 == 0:
                    other.delete_provider(create(number).uuid)

    monkeypatch.setattr("gantt.engine.table_check._PIECE_S", 0.0)
    books._verifying._clock = Writing()
    report = books.verify()
    assert report.problems == ()
    assert report.revision > 20


# -- from one life to the next --------------------------------------------------


def test_all_data_survives_a_restart(
    books: Gantt, url: str, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    books.close()
    with caplog.at_level(logging.WARNING, "gantt"):
        again = connect(opened(url))
    assert again.revision == 4
    assert again.get_inventories(HOST).inventories == {"CUSTOM_SLOT": Inventory(4)}
    assert caplog.text == ""
    again.submit(create(2))
    assert again.revision == 5


def test_a_change_while_no_engine_ran_is_warned_of(
    books: Gantt,
    sql: Sql,
    url: str,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
) -> None:
    books.close()
    sql("UPDATE resource_providers SET generation = 9")
    with caplog.at_level(logging.WARNING, "gantt"):
        again = connect(opened(url))
    assert "the tables changed while no Gantt was running" in caplog.text
    assert again.get_provider(HOST).generation == 9
    assert again.verify().problems == (CHANGED_WHILE_STOPPED,)
    again.submit(create(2))
    assert again.verify().problems == ()


def test_locked_head_does_not_block_close(
    books: Gantt, shared: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    def locked(fingerprint: object) -> None:
        raise DefiniteAbort("locked")

    shared.inner.save_fingerprint = locked  # type: ignore[method-assign]
    books.close()
    assert "no fingerprint was left" in caplog.text
    assert books.unready()


def test_writes_of_another_gantt_are_not_foreign(
    books: Gantt, url: str, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    other = connect(opened(url))
    books.close()  # leaves a fingerprint, while the other goes on
    with closing(opened(url)) as store:
        state = load_state(store)
        other.submit(create(2))
        assert compare_fingerprints(store, state)
    assert caplog.text == ""
