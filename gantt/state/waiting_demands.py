"""Demands that wait for room, in their order: by priority, then age.

Apart from the facts that keep them, because all of them are looked through as a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from gantt.model.demand_queue import DemandEntry
from gantt.model.rows import FactRow

_LAST: Final = 2**62
_DECODE: Final = msgspec.json.Decoder(DemandEntry).decode


class QueuedDemand(Struct, frozen=True):
    """A demand with the row that keeps it."""

    row: FactRow
    entry: DemandEntry

    @property
    def uuid(self) -> str:
        return self.row.subject

    @property
    def until(self) -> int:
        """Microseconds; it is not placed then or later."""
        return self.row.at or 0

    @property
    def is_waiting(self) -> bool:
        return self.entry.state == "waiting"

    @property
    def rank(self) -> tuple[int, int, int]:
        """Lower ones come first."""
        return -self.entry.demand.priority, self.row.created_at or 0, self.row.id


class DemandQueue:
    """All that are known. ``moves`` moves when one comes, goes or ends."""

    def __init__(self) -> None:
        self.by_uuid: dict[str, QueuedDemand] = {}
        self.moves = 0
        self._waiting: dict[str, QueuedDemand] = {}
        self._of_shape: dict[str, dict[str, QueuedDemand]] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def put(self, row: FactRow) -> None:
        self.remove(row.subject)
        try:
            one = QueuedDemand(row, _DECODE(row.reason or ""))
        except msgspec.DecodeError:  # of a newer release: that one places it
            return
        self.by_uuid[row.subject] = one
        if one.is_waiting:
            self._waiting[one.uuid] = one
            self._of_shape.setdefault(one.entry.shape, {})[one.uuid] = one

    def remove(self, uuid: str) -> None:
        self.moves += 1
        gone = self.by_uuid.pop(uuid, None)
        if gone is not None and self._waiting.pop(uuid, None) is not None:
            same = self._of_shape[gone.entry.shape]
            del same[uuid]
            if not same:
                del self._of_shape[gone.entry.shape]

    def in_order(self) -> list[QueuedDemand]:
        """Those that wait, the next one first."""
        return sorted(self._waiting.values(), key=_rank)

    def ended(self) -> Iterator[QueuedDemand]:
        """Those that wait no more."""
        return (one for one in self.by_uuid.values() if not one.is_waiting)

    def ahead(
        self, shape: str, priority: int, mine: QueuedDemand | None, clock: int
    ) -> list[QueuedDemand]:
        """Those of one shape that come before a demand; ``mine`` None: before one that
        is new."""
        last = (-priority, _LAST, 0) if mine is None else mine.rank
        same: Iterable[QueuedDemand] = self._of_shape.get(shape, {}).values()
        return [one for one in same if one.rank < last and one.until > clock]


def _rank(one: QueuedDemand) -> tuple[int, int, int]:
    return one.rank
