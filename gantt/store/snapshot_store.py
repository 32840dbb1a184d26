"""A store in memory that begins with rows of elsewhere, which it never writes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gantt.model.changes import Cursor
from gantt.model.rows import ROW_TYPES, Row
from gantt.model.usage_history import UsageRecord
from gantt.store.interface import Chunks
from gantt.store.memory_store import MemoryStore


class SnapshotStore(MemoryStore):
    """``rows``: by table, each in the order of its keys, as of ``cursor``. ``usage``:
    records of the usage history, in any order; ``where`` they are from."""

    def __init__(
        self,
        cursor: Cursor,
        rows: Mapping[str, Sequence[Row]],
        usage: Iterable[UsageRecord] = (),
        *,
        where: str = "",
    ) -> None:
        super().__init__()
        self.url = f"{where or 'memory://'} (a copy)"
        self._end = cursor
        self._rows = rows
        starts: dict[tuple[int, int], list[UsageRecord]] = {}
        for one in usage:
            starts.setdefault((one.period_s, one.start), []).append(one)
        with self.usage_rows() as history:
            for (period_s, start), records in starts.items():
                history.replace(period_s, start, records)

    def load(self) -> tuple[Cursor, Chunks]:
        """The rows that it began with; once only."""
        return self._end, self._chunks()

    def _chunks(self) -> Chunks:
        rows, self._rows = self._rows, {}
        for table in ROW_TYPES:
            if table in rows:
                yield table, list(rows[table])
