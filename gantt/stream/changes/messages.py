"""Messages of the topic of changes: JSON, each complete without its headers.

Separate from publishing because readers need only this. A revision has the fields that
``gantt watch -o json`` prints. What is larger than a message may be is split; all parts
of a revision are in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.watching import Event, RowChange


class Revision(Event, frozen=True, kw_only=True, tag_field="type", tag="revision"):
    """One revision, or a part of one, whose ``changes`` follow those of the part
    before. ``books``: the identity of the database. ``base_at``: when the last
    snapshot, or the first revision of all, was published; in microseconds, UTC."""

    books: str
    base_at: int
    part: int = 1
    parts: int = 1


class Begin(Struct, frozen=True, tag_field="type", tag="begin"):
    """The marker before a snapshot of all rows at ``revision``. What a reader had no
    longer counts once the snapshot has ended; ``reason``: why it is published."""

    books: str
    id: str
    revision: int
    reason: str


class SnapshotRows(Struct, frozen=True, tag_field="type", tag="rows"):
    """Some rows of the snapshot ``id``, those that others refer to first."""

    books: str
    id: str
    changes: tuple[RowChange, ...]


class End(Struct, frozen=True, tag_field="type", tag="end"):
    """The snapshot ``id`` is complete with ``rows`` rows; revisions follow."""

    books: str
    id: str
    revision: int
    rows: int
    base_at: int


Message: TypeAlias = Revision | Begin | SnapshotRows | End

encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Message)


def decode(data: bytes) -> Message:
    """Raises Invalid."""
    try:
        message: Message = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise Invalid(
            f"This is not a message about changes ({error}): {data[:80]!r}. Only Gantt "
            "may write to the topic."
        ) from error
    return message


def revision_messages(
    event: Event, *, books: str, base_at: int, most_bytes: int
) -> tuple[bytes, ...]:
    """``event`` as one message, or in parts of at most ``most_bytes``, unless a single
    row is larger."""
    fields = {name: getattr(event, name) for name in Event.__struct_fields__}
    whole = Revision(**fields, books=books, base_at=base_at)
    data = encode(whole)
    if len(data) <= most_bytes:
        return (data,)
    # Two numbers of parts are longer than the two of the message without changes.
    frame = len(encode(replace(whole, changes=()))) + 20
    groups = tuple(grouped(event.changes, most_bytes - frame))
    return tuple(
        encode(replace(whole, changes=group, part=part, parts=len(groups)))
        for part, group in enumerate(groups, 1)
    )


def rows_messages(
    changes: Iterable[RowChange], *, books: str, cursor: str, most_bytes: int
) -> Iterator[bytes]:
    """``changes`` as messages of at most ``most_bytes``, unless a row is larger."""
    frame = len(encode(SnapshotRows(books, cursor, ())))
    for group in grouped(changes, most_bytes - frame):
        yield encode(SnapshotRows(books, cursor, group))


def grouped(
    changes: Iterable[RowChange], most_bytes: int
) -> Iterator[tuple[RowChange, ...]]:
    """``changes`` in order, in groups of at most ``most_bytes`` of JSON."""
    group: list[RowChange] = []
    size = 0
    for change in changes:
        more = len(encode(change)) + 1  # the comma
        if group and size + more > most_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(change)
        size += more
    if group:
        yield tuple(group)
