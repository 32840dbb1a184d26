"""What of a decision is compared bit for bit with another.

Apart from the selection, which need not know that it is recorded: packed at once, since
a driver changes its cached arrays with the next decision, and since picks that are kept
for long take memory that the next decisions would use again, still in the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec
import numpy as np

from gantt.model.record import Marks
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.selection.host_choice import Pick
from gantt.state.column import Int64s

_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_DECODE: Final = msgspec.msgpack.Decoder(
    tuple[list[list[int]], bytes, msgspec.Raw]
).decode
_LITTLE: Final = np.dtype("<f8")
_BITS: Final = _LITTLE.itemsize


def pack_choices(
    feasible: FeasibleHosts, picks: Sequence[Sequence[Pick]], *, ascends: bool
) -> bytes:
    """All hosts to try, their weights, and what is claimed on the first for each
    instance. ``ascends``: rows do, as they do unless a driver of another package has
    chosen."""
    ids = [[one.host_id for one in mine] for mine in picks]
    claims = [mine[0].candidate for mine in picks]
    return _ENCODE((ids, _bits(feasible, picks, ascends=ascends), claims))


def marks_of(packed: bytes, feasible: int) -> Marks:
    """The marks of a decision from its packed choices and how many hosts passed."""
    ids, bits, _ = _DECODE(packed)
    digest = blake2b(packed, digest_size=12).hexdigest()
    firsts, at = [], 0
    for mine in ids:
        firsts.append((mine[0], _number(bits[at : at + _BITS])))
        at += _BITS * len(mine)
    return Marks(tuple(firsts), digest, feasible)


def _bits(
    feasible: FeasibleHosts, picks: Sequence[Sequence[Pick]], *, ascends: bool
) -> bytes:
    """The float64 weight, as 8 bytes, the lowest first, with which each pick came to
    the selection, those of the first instance first."""
    rows = [one.row for mine in picks for one in mine]
    weights = feasible.weights[_places(feasible, rows, ascends=ascends)]
    if weights.dtype is not _LITTLE:
        weights = weights.astype(_LITTLE)
    return weights.tobytes()


def _places(feasible: FeasibleHosts, rows: list[int], *, ascends: bool) -> Int64s:
    known, order = feasible.hosts.rows, feasible.known_order
    if order is not None:
        first = order[: len(rows)]
        if known[first].tolist() == rows:  # as mostly: to search takes longer
            return first
    if ascends:
        return known.searchsorted(rows)
    order = known.argsort()
    return order[known.searchsorted(rows, sorter=order)]


def _number(bits: bytes) -> int:
    return int.from_bytes(bits, "little", signed=True)
