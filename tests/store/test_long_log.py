"""A log that is longer than what is read of it at once: ``tail_limit`` revisions."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest

from gantt.connection import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.changes import Cursor
from gantt.model.rows import TRAITS
from gantt.store import open_store
from gantt.store.interface import StoreOptions
from gantt.store.sql_store import SqlStore
from tests.store import books

LIMIT = 5
OPTIONS = StoreOptions(create=True, tail_limit=LIMIT)


def opened(url: str) -> SqlStore:
    found = open_store(url, OPTIONS)
    assert isinstance(found, SqlStore)
    return found


def add(url: str, number: int) -> Cursor:
    """One revision more; the cursor after it."""
    with closing(opened(url)) as store:
        row = books.name_row(number, f"CUSTOM_{number}")
        return books.write(store, books.made(TRAITS, row))


def seen(url: str, known: Cursor) -> list[int] | None:
    """Revisions that the first batch of a process sees beyond ``known``."""
    with closing(opened(url)) as store:
        transaction = store.begin()
        tail = transaction.tail(known)
        transaction.rollback()
    return None if tail is None else [entry.revision for entry in tail]


def test_the_first_batch_sees_all_that_is_newer(tmp_path: Path) -> None:
    """Wherever the log is asked for from: the process has read nothing of it yet."""
    url = f"sqlite:///{tmp_path}/gantt.db"
    ends: list[Cursor] = []
    for last in range(1, 2 * LIMIT + 4):
        ends.append(add(url, last))
        for known in range(max(1, last - LIMIT - 2), last + 1):
            newer = list(range(known + 1, last + 1))
            expected = newer if len(newer) <= LIMIT else None
            assert seen(url, ends[known - 1]) == expected, (known, last)


def test_on_any_database(url: str) -> None:
    ends = [add(url, number) for number in range(1, LIMIT + 3)]
    assert seen(url, ends[-1]) == []
    assert seen(url, ends[-3]) == [LIMIT + 1, LIMIT + 2]
    assert seen(url, ends[0]) is None
    with closing(opened(url)) as store:
        assert store.tail(ends[-1]) == []  # further than the caller is
        transaction = store.begin()
        tail = transaction.tail(ends[-3])
        transaction.rollback()
    assert tail is not None
    assert [entry.revision for entry in tail] == [LIMIT + 1, LIMIT + 2]


@pytest.mark.parametrize("revisions", [LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, 40])
def test_a_process_that_begins_on_a_long_log_loads_its_tables_once(
    tmp_path: Path, revisions: int, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    options = EngineOptions(store=OPTIONS, usage_sample_s=0)
    with closing(open_gantt(url, options)) as gantt:
        for number in range(revisions):
            gantt.create_provider(f"p{number}")
    caplog.clear()
    with (
        caplog.at_level(logging.WARNING),
        closing(open_gantt(url, options)) as gantt,
    ):
        gantt.create_provider("another")
    assert "reloading" not in caplog.text
