"""How changes are encoded in rows of the log: msgpack, new values only.

Rows outlive programs: other processes, other releases and feeds read them, so the
numbers below are never reused and fields are only appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gantt import errors
from gantt.model import rows
from gantt.model.changes import Change
from gantt.model.rows import Key, Row

TABLE_NUMBERS: dict[str, int] = {
    rows.RESOURCE_CLASSES: 1,
    rows.TRAITS: 2,
    rows.AGGREGATES: 3,
    rows.PROJECTS: 4,
    rows.USERS: 5,
    rows.CONSUMER_TYPES: 6,
    rows.PROVIDERS: 7,
    rows.CONSUMERS: 8,
    rows.INVENTORIES: 9,
    rows.ALLOCATIONS: 10,
    rows.PROVIDER_TRAITS: 11,
    rows.PROVIDER_AGGREGATES: 12,
    rows.SERVICES: 13,
    rows.HOSTS: 14,
    rows.HOST_AGGREGATES: 15,
    rows.INSTANCES: 16,
    rows.SERVER_GROUPS: 17,
    rows.CLAIMS: 18,
}

_Keys = list[tuple[int, Key, msgspec.Raw]]
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Keys)
_ROW_DECODERS: dict[int, tuple[str, msgspec.msgpack.Decoder[Any]]] = {
    number: (name, msgspec.msgpack.Decoder(rows.ROW_TYPES[name] | None))
    for name, number in TABLE_NUMBERS.items()
}


def encode(changes: Sequence[Change]) -> bytes:
    """``[[table number, key, row or null], …]``; a row is the array of its fields."""
    found: list[tuple[int, Key, Row | None]] = []
    for one in changes:
        found.append((TABLE_NUMBERS[one.table], one.key, one.new))
    return _ENCODER.encode(found)


def decode(data: bytes) -> tuple[Change, ...]:
    """The changes of a log row, their ``old`` unknown. Raises StoreFailed."""
    try:
        return tuple(_change(*parts) for parts in _DECODER.decode(data))
    except (msgspec.MsgspecError, KeyError) as error:
        raise errors.StoreFailed(
            f"A row of gantt_log cannot be read ({error!r}): was it written by a newer "
            "Gantt? Upgrade this process."
        ) from error


def _change(number: int, key: Key, raw: msgspec.Raw) -> Change:
    table, decoder = _ROW_DECODERS[number]
    row: Row | None = decoder.decode(raw)
    return Change(table, key, None, row)
