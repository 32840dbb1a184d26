"""What of a decision is compared bit for bit with another.

Apart from the selection, which need not know that it is recorded: made at once, since
a driver changes its cached arrays with the next decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec
import numpy as np

from gantt.model.record import Marks
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.selection.select import Pick

_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode

Bits = list[int]


def bits_of(feasible: FeasibleHosts, picks: Sequence[Sequence[Pick]]) -> Bits:
    """The bits of the float64 weight with which each pick came to the selection, those
    of the first instance first."""
    rows = np.array([one.row for mine in picks for one in mine], np.int64)
    known = feasible.hosts.rows
    # Rows ascend, unless a driver of another package has chosen.
    places = known.searchsorted(rows)
    if known.take(places, mode="clip").tobytes() != rows.tobytes():
        order = np.argsort(known)
        places = order[np.searchsorted(known, rows, sorter=order)]
    bits: Bits = feasible.weights.take(places, mode="clip").view(np.int64).tolist()
    return bits


def marks_of(bits: Bits, picks: Sequence[Sequence[Pick]], feasible: int) -> Marks:
    """The marks of a decision whose ``bits`` were taken when it was made."""
    whole = [[one.candidate for one in mine] for mine in picks]
    digest = blake2b(_ENCODE(whole), digest_size=12).hexdigest()
    weighed, begin = [], 0
    for mine in picks:
        end = begin + len(mine)
        ids = [one.host_id for one in mine]
        weighed.append(tuple(zip(ids, bits[begin:end], strict=True)))
        begin = end
    return Marks(tuple(weighed), digest, feasible)
