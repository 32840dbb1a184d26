"""A small read waits for one search at most, however many there are."""

from __future__ import annotations

import threading
import time

from gantt.connection import open_gantt
from gantt.state.state import State

SEARCHES = 8


def test_small_read_is_not_queued_behind_searches() -> None:
    order: list[str] = []
    begun = threading.Event()

    def search(_state: State) -> None:
        # The first one lasts until all others, and the small read, wait.
        is_first = not begun.is_set()
        begun.set()
        time.sleep(1.0 if is_first else 0.02)
        order.append("search")

    def look(_state: State) -> None:
        order.append("look")

    with open_gantt("memory://") as books:
        searches = [
            threading.Thread(target=books._reader.search, args=(search,))
            for _ in range(SEARCHES)
        ]
        for thread in searches:
            thread.start()
        assert begun.wait(30)
        books.read(look)
        for thread in searches:
            thread.join(30)
    assert len(order) == SEARCHES + 1
    assert order.index("look") < SEARCHES // 2
