"""Which source of amounts decides, as seen by several threads."""

from __future__ import annotations

from typing import Any, cast

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Reader
from gantt.engine.scheduling.local_books import LocalBooks
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE


class SlowReader:
    """Another thread switches to the books before the first read returns."""

    def __init__(self) -> None:
        self.stages = ["books", "reports"]
        self.books: LocalBooks | None = None

    def read(self, *_: Any, **__: Any) -> str:
        books, self.books = self.books, None
        if books is not None:
            assert books.ask(again=False) is BOOK_SOURCE
        return self.stages.pop(0)


def test_a_late_answer_does_not_take_back_the_switch() -> None:
    reader = SlowReader()
    books = LocalBooks(cast(Reader, reader), cast(Committer, None), "auto")
    reader.books = books
    books.ask(again=False)
    assert not reader.stages
    assert books.ask(again=False) is BOOK_SOURCE
