"""Columns of plug-ins: each is kept, or taken back, without regard to the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import gantt
from gantt.agent.collectors.contract import Part, merge
from gantt.agent.files import Files
from gantt.agent.loop import Agent
from gantt.agent.machine import describe
from gantt.agent.reporter import Reporter
from gantt.engine.gantt import Gantt
from gantt.model.reports import with_unread


class Column:
    """Finds ``stats.NAME``, while it can be read."""

    def __init__(self, name: str, value: Any) -> None:
        self.provides = frozenset({f"stats.{name}"})
        self.name, self.value = name, value
        self.is_readable = True

    def collect(self, files: Files) -> dict[str, Any]:
        if not self.is_readable:
            files.problem(f"/sys/{self.name}", "gone")
        found = self.is_readable and self.value is not None
        return {"stats": {self.name: self.value}} if found else {}


class Host:
    """With two columns, and the books that know them."""

    def __init__(self, books: Gantt) -> None:
        self.books = books
        self.left, self.right = Column("left", 1), Column("right", {"deep": [2]})
        self.start("a")

    def start(self, incarnation: str) -> None:
        self.agent = Agent(
            self.books,
            Reporter("h", "h", incarnation),
            (self.left, self.right),
            now=lambda: time.time_ns() // 1000,
            sleep=lambda seconds: True,
        )

    @property
    def stats(self) -> dict[str, Any]:
        """As the books know them after a report."""
        assert self.agent.report()
        (view,) = self.books.list_hosts(host="h")
        found: dict[str, Any] = view.stats["stats"]
        return found


@pytest.fixture
def host() -> Iterator[Host]:
    books = gantt.connect("memory://")
    assert isinstance(books, Gantt)
    yield Host(books)
    books.close()


BOTH = {"left": 1, "right": {"deep": [2]}}


def test_columns_of_several_collectors_are_one_field(host: Host) -> None:
    assert host.stats == BOTH
    host.left.value = 3
    assert host.stats == {**BOTH, "left": 3}


def test_a_column_that_cannot_be_read_stays_and_the_other_moves(host: Host) -> None:
    assert host.stats == BOTH
    host.right.is_readable = False
    host.left.value = 3
    assert host.stats == {**BOTH, "left": 3}
    host.start("b")
    host.left.value = 4
    assert host.stats == {**BOTH, "left": 4}, "a full report of a new agent"
    host.right.is_readable, host.right.value = True, 5
    assert host.stats == {"left": 4, "right": 5}


def test_a_column_that_is_gone_is_taken_back(host: Host) -> None:
    assert host.stats == BOTH
    host.right.value = None
    assert host.stats == {"left": 1}
    host.left.is_readable = False
    host.start("b")
    assert host.stats == {"left": 1}


def test_what_one_did_not_read_another_may_have() -> None:
    unread = Part({}, unread=frozenset({"stats.left", "stats.right"}))
    assert merge([unread, Part({"stats": {"left": 1}})]).unread == {"stats.right"}


def test_a_column_that_is_not_provided_is_a_problem() -> None:
    column = Column("left", 1)
    column.name = "other"
    part = describe([column])
    assert part.fields == {} and part.unread == {"stats.left"}
    assert "found stats.other" in part.problems[0].reason


@pytest.mark.parametrize("stats", [7, "text", [1]])
def test_what_is_no_object_stays_for_the_rule_to_refuse(stats: Any) -> None:
    assert with_unread(stats, {"left": 1}, ["stats.left"]) == stats
