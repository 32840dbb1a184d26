"""Pages of shadow records, while those that wait are written between two of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from gantt.engine.clock import SystemClock
from gantt.engine.options import ShadowOptions
from gantt.engine.shadow.record_store import Keeping
from gantt.engine.threads import SystemThreads, Thread
from gantt.model.paging import read
from gantt.model.shadow import ShadowPlace, ShadowQuery
from gantt.store import open_store, schema
from gantt.store.interface import SHADOWS
from tests.engine.shadow.test_agreement_report import record

COUNT, LIMIT = 30, 8


class Idle(SystemThreads):
    """Nothing is written until that is asked for."""

    class Thread:
        def join(self, timeout: float | None = None) -> None:
            """It has ended."""

    def start(self, run: object, name: str) -> Thread:
        return self.Thread()


@pytest.mark.parametrize("step", [1, 2, 5], ids=lambda step: f"{step} of one time")
def test_a_record_that_is_written_between_pages_is_shown_once(
    tmp_path: Path, step: int
) -> None:
    url = f"sqlite:///{tmp_path / 'books.db'}"
    schema.sync(url)
    with closing(open_store(url)) as store:
        table = store.beside(SHADOWS)
        keeping = Keeping(table, ShadowOptions(), SystemClock(), Idle())
        keeping.add(record(n, id=f"r{n}", asked_at=1 + n // step) for n in range(COUNT))
        asked, shown = ShadowQuery(limit=LIMIT), list[str]()
        while True:
            page = keeping.page(asked)
            shown += [one.id for one in page.shadow_records]
            keeping.close()  # which writes what waits
            if not page.next:
                break
            asked = replace(asked, after=read(page.next, ShadowPlace))
    assert sorted(shown) == sorted(f"r{n}" for n in range(COUNT))
