"""How long what was placed by name is remembered.

A claim that ends leaves the name behind. That goes with the last that lives of it: the
allocations, and the instance that a host names. Apart because any command may end one
of them: so it is judged once a command is planned, on all that it changes.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.rows import BookingRow, ConsumerRow, InstanceRow
from gantt.placement.rules.draft import Draft

NAMELESS: Final[dict[str, str]] = dict.fromkeys(
    ("item", "name", "project", "plan", "digest"), ""
)


def end(draft: Draft, row: BookingRow) -> None:
    """The claim ends; what it is called stays, if it is called anything."""
    if row.name:
        draft.put(t.BOOKINGS, _bare(draft, row))
    else:
        draft.delete(t.BOOKINGS, row)


def leave(draft: Draft, row: BookingRow) -> None:
    """The claim goes on for another consumer; what its own is called stays."""
    if row.name:
        name = replace(_bare(draft, row), id=draft.new_id(t.BOOKINGS))
        draft.change(t.BOOKINGS, None, name)


def of_no_claim(key: int, uuid: str, created_at: int | None, **said: Any) -> BookingRow:
    """A booking that takes nothing."""
    place, amounts, ends = (key, "", uuid, t.NO_HOST), (0, 0, 0), (None, None, None)
    return BookingRow(*place, *amounts, None, *ends, created_at, None, **said)


def _bare(draft: Draft, row: BookingRow) -> BookingRow:
    said = {name: getattr(row, name) for name in NAMELESS}
    bare = of_no_claim(row.id, row.instance_uuid, row.created_at, **said)
    return replace(bare, updated_at=draft.now)


def forget(draft: Draft, uuid: str) -> None:
    """What the consumer is called, whether or not something of it lives."""
    row = _name_of(draft, uuid)
    if row is not None:
        draft.delete(t.BOOKINGS, row)


def forget_plan(draft: Draft, claim: str) -> None:
    """The plan that the claim stands for, if it does for one: no caller heard its
    answer."""
    for row in draft.state.fleet.claims.plans.values():
        if row.instance_uuid == claim:
            draft.delete(t.BOOKINGS, row)


def settle(draft: Draft) -> None:
    """Forget the names of which nothing lives after this command."""
    there, gone = set[str](), set[str]()
    for _, new in draft.changed(t.BOOKINGS):
        if isinstance(new, BookingRow) and new.name and not new.is_claim:
            gone.add(new.instance_uuid)
    for old, new in [*draft.changed(t.CONSUMERS), *draft.changed(t.INSTANCES)]:
        if isinstance(new, ConsumerRow | InstanceRow):
            there.add(new.uuid)
        elif isinstance(old, ConsumerRow | InstanceRow):
            gone.add(old.uuid)
    for uuid in gone - there:
        row = _name_of(draft, uuid)
        if row is not None and not row.is_claim and not _lives(draft, uuid):
            draft.delete(t.BOOKINGS, row)


def _name_of(draft: Draft, uuid: str) -> BookingRow | None:
    known = draft.state.fleet.claims.booked.get(uuid)
    row = None if known is None else draft.get(t.BOOKINGS, known.id)
    return row if isinstance(row, BookingRow) else None


def _lives(draft: Draft, uuid: str) -> bool:
    """Whether a host names it, or it has allocations, of what was there before."""
    named = draft.state.fleet.instances.by_uuid.get(uuid)
    if named is not None and draft.get(t.INSTANCES, named.id) is not None:
        return True
    consumer = draft.state.consumers.find(uuid)
    return consumer is not None and draft.get(t.CONSUMERS, consumer.id) is not None
