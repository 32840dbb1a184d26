"""Callers of a committer that stands still: most leave at once, and definitely."""

from __future__ import annotations

import threading

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Busy
from gantt.store.interface import StoreOptions
from gantt.store.memory_store import MemoryStore
from tests.waiting import until

CALLERS, PATIENT = 12, 3


def _call_at_once(books: Gantt) -> tuple[list[threading.Thread], dict[str, object]]:
    heard: dict[str, object] = {}

    def call(name: str) -> None:
        try:
            heard[name] = books.create_provider(name).uuid
        except Busy as busy:
            heard[name] = busy

    names = [f"host-{number}" for number in range(CALLERS)]
    threads = [threading.Thread(target=call, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    return threads, heard


def test_admitted_callers_wait_for_the_lock() -> None:
    store = MemoryStore(StoreOptions(lock_timeout_s=30))
    options = EngineOptions(wait_s=0.05, patient=PATIENT, answer_timeout_s=30)
    with Gantt(store, options) as books:
        elsewhere = store.begin()
        threads, heard = _call_at_once(books)
        until(lambda: len(heard) >= CALLERS - PATIENT)
        assert books.list_providers() == ()
        turned_away = {name for name, what in heard.items() if isinstance(what, Busy)}
        assert len(turned_away) == CALLERS - PATIENT
        elsewhere.rollback()
        for thread in threads:
            thread.join()
        there = {provider.name for provider in books.list_providers()}
        assert there == heard.keys() - turned_away
        assert len(there) == PATIENT
        assert books.counts()["busy"] == CALLERS - PATIENT


def test_a_caller_that_gives_up_learns_that_nothing_was_done() -> None:
    store = MemoryStore(StoreOptions(lock_timeout_s=0.05))
    options = EngineOptions(answer_timeout_s=0.2, commit_attempts=1000)
    with Gantt(store, options) as books:
        elsewhere = store.begin()
        with pytest.raises(Busy, match="was not applied and will not be"):
            books.create_provider("late")
        elsewhere.rollback()
        books.create_provider("in time")
        assert [provider.name for provider in books.list_providers()] == ["in time"]
