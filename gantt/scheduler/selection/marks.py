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
from gantt.state.column import Int64s

_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode

Bits = list[list[tuple[int, int]]]


def bits_of(feasible: FeasibleHosts, picks: Sequence[Sequence[Pick]]) -> Bits:
    """For each instance the hosts to try: (id, bits of the float64 weight with which
    the host came to the selection)."""
    rows = np.array([one.row for mine in picks for one in mine], np.int64)
    weights = feasible.weights[_places(feasible.hosts.rows, rows)]
    bits = iter(weights.view(np.int64).tolist())
    return [[(one.host_id, next(bits)) for one in mine] for mine in picks]


def marks_of(bits: Bits, picks: Sequence[Sequence[Pick]], feasible: int) -> Marks:
    """The marks of a decision whose ``bits`` were taken when it was made."""
    whole = [[one.candidate for one in mine] for mine in picks]
    digest = blake2b(_ENCODE(whole), digest_size=12).hexdigest()
    return Marks(tuple(map(tuple, bits)), digest, feasible)


def _places(known: Int64s, rows: Int64s) -> Int64s:
    """Where in ``known`` the ``rows`` are; it ascends, unless a driver of another
    package has chosen."""
    places = np.searchsorted(known, rows)
    if (places < len(known)).all() and (known[places] == rows).all():
        return places
    order = np.argsort(known)
    found: Int64s = order[np.searchsorted(known, rows, sorter=order)]
    return found
