"""Cells and devices that many hosts report alike: read once, then found again.

Apart from the readers because it is about work alone: the hosts of a fleet are of few
models, and what one reports is checked by the door, by the rule, and read into columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from gantt.errors import Invalid
from gantt.model.forms.device_pools import read_pools
from gantt.model.forms.host_topology import read_cells
from gantt.model.topology import HostCell, HostTopology, Pool

T = TypeVar("T")

_MOST: Final = 1024
_LONGEST: Final = 65_536
"""Bytes of one that is kept."""
# Not JSON, in which NaN is null. Sorted, because the books sort what they keep.
_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_decode: Final = msgspec.msgpack.Decoder().decode
_ODD: Final = (
    Invalid,
    msgspec.MsgspecError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def read_host(stats: Mapping[str, Any]) -> HostTopology:
    """What of a report, by field of compute_nodes, can be fitted. Raises Invalid."""
    return HostTopology(
        shared_cells("stats.numa_topology", stats.get("numa_topology")),
        shared_pools("stats.pci_stats", stats.get("pci_stats")),
        stats.get("obeys_claims") is True,
    )


def shared_cells(path: str, value: Any) -> tuple[HostCell, ...]:
    """The cells that ``read_cells`` reads of a value; those of equal values are
    shared."""
    return () if value is None else _shared(_cells, read_cells, path, value)


def shared_pools(path: str, value: Any) -> tuple[Pool, ...] | None:
    """The pools that ``read_pools`` reads of a value; those of equal values are shared,
    and not to be changed."""
    return None if value is None else _shared(_pools, read_pools, path, value)


def _shared(
    known: Callable[[bytes], T], read: Callable[[str, Any], T], path: str, value: Any
) -> T:
    try:
        raw = _encode(value)
        if len(raw) <= _LONGEST:
            return known(raw)
    except _ODD:
        pass  # no plain JSON, or refused: with the right path this time
    return read(path, value)


@lru_cache(_MOST)
def _cells(raw: bytes) -> tuple[HostCell, ...]:
    return read_cells("", _decode(raw))


@lru_cache(_MOST)
def _pools(raw: bytes) -> tuple[Pool, ...] | None:
    return read_pools("", _decode(raw))
