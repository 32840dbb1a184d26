"""The best hosts, updated while weights change a few at a time.

Finding the best of ten thousand costs a pass over all of them; after one claim, only
one of them has moved.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from gantt.scheduler.scoring import weigh
from gantt.state.column import Floats, Int64s

_SPARE = 4


class Ranking:
    """The best ``count`` places of ``weights`` (float64[n]), best first; of equals the
    earlier place first. ``move`` updates weights."""

    def __init__(self, weights: Floats, count: int) -> None:
        self._weights = weights
        self._count = min(count, len(weights))
        self._fill()

    def best(self) -> Int64s:
        """int64[count]: the places."""
        if len(self._top) < self._count:
            self._fill()
        return np.array([place for _, place in self._top[: self._count]], np.int64)

    def move(self, places: Int64s) -> None:
        """The weights at ``places`` are new."""
        for place in places.tolist():
            before = self._known.pop(place, None)
            if before is not None:
                del self._top[bisect_left(self._top, (before, place))]
            entry = (-self._weights.item(place), place)
            # A host that ranks after the last one found ranks after the others, too.
            if entry <= self._last:
                insort(self._top, entry)
                self._known[place] = entry[0]

    def _fill(self) -> None:
        """Find some more than requested, so that a few may fall behind."""
        found = weigh.best(self._weights, _SPARE * self._count).tolist()
        self._top = [(-self._weights.item(place), place) for place in found]
        self._known = {place: key for key, place in self._top}
        is_all = len(found) == len(self._weights)
        self._last = (np.inf, 0) if is_all or not found else self._top[-1]
