"""The ranking that an advice was made from, as it is kept until Nova has claimed.

Separate because names of ten thousand hosts take longer than their order: they are
resolved when the claim is seen, and once.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from gantt.model.shadow import Ranking
from gantt.scheduler.sent_hosts import NONE, Ranked
from gantt.state.column import Floats, Int32s
from gantt.state.host_table import HostNames

_MOST_CAUSES = 255


class KeptRanking(Struct, frozen=True, eq=False):
    """Thirteen bytes a host. ``rows``: int32[n] in ``names``: of the hosts that pass,
    the best first, each with its weight (float64[k]), then of those that are refused,
    each with the number of its filter (uint8[n - k], as bytes)."""

    rows: Int32s
    weights: Floats
    causes: bytes
    filters: tuple[str, ...]
    names: HostNames

    def ranking(self) -> Ranking:
        """With names."""
        rows, weights = self.rows.tolist(), self.weights.tolist()
        hosts, nodes = self.names
        return Ranking(
            tuple([hosts[row] for row in rows]),
            tuple([nodes[row] for row in rows]),
            tuple([None if one == -math.inf else one for one in weights]),
            self.causes,
            self.filters,
        )


def kept(ranked: Ranked) -> KeptRanking:
    """The ranking of the hosts that were sent; those that are unknown, or whose report
    is too old to refuse them, are left out."""
    count = len(ranked.weights)
    is_refused = ranked.causes != NONE
    rows = np.concatenate((ranked.rows[:count], ranked.rows[count:][is_refused]))
    causes = np.minimum(ranked.causes[is_refused], _MOST_CAUSES)
    filters = ranked.masks[: _MOST_CAUSES + 1]
    return KeptRanking(
        rows.astype(np.int32),
        ranked.weights,
        causes.astype(np.uint8).tobytes(),
        filters,
        ranked.names,
    )
