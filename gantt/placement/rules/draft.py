"""A sheet over the State on which a rule writes what it wants to change.

Rules read through it, so that a later step of one command sees an earlier one, and the
State itself stays untouched until the whole command is known to hold.
"""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change
from gantt.model.rows import (
    ROW_TYPES,
    AllocationRow,
    Key,
    LinkRow,
    NameRow,
    ProviderRow,
    Row,
    key_of,
)
from gantt.state.state import State
from gantt.state.view import View

_ORDER = {table: number for number, table in enumerate(ROW_TYPES)}


class Draft:
    """Rows changed so far, over ``state``; ``now`` stamps what it writes, ``clock``
    says when leases end."""

    def __init__(self, state: State, now: int, clock: int) -> None:
        self.state = state
        self.now = now
        self.clock = clock
        self._view: View | None = None
        self._old: dict[tuple[str, Key], Row | None] = {}
        self._new: dict[tuple[str, Key], Row | None] = {}
        self._next_id: dict[str, int] = {}
        self._bumped: set[int] = set()
        # Kept apart so that no question to the draft looks through all of it.
        self._made: dict[tuple[str, str], int] = {}
        self._claimed: set[tuple[int, int]] = set()
        # What must be as it is known though it is not changed: (table, key).
        self.relied: list[tuple[str, Key | str]] = []

    @property
    def view(self) -> View:
        """What the amounts of this command are judged on, all of them together."""
        if self._view is None:
            self._view = View(self.state)
        return self._view

    def get(self, table: str, key: Key) -> Row | None:
        """The row as this draft leaves it."""
        place = (table, key)
        return self._new[place] if place in self._new else self.state.get(table, key)

    def put(self, table: str, row: Row) -> None:
        self.change(table, self.state.get(table, key_of(row)), row)

    def change(self, table: str, old: Row | None, row: Row) -> None:
        """Puts a row where that is known which it replaces, in the State or in this
        draft. None: its key is new."""
        if isinstance(row, AllocationRow):
            self._claimed.add((row.resource_provider_id, row.resource_class_id))
        place = (table, key_of(row) if isinstance(row, LinkRow) else row.id)
        self._old.setdefault(place, old)
        self._new[place] = row

    def add(self, table: str, row: LinkRow) -> bool:
        """Puts a link, unless there is such a one; says whether there was none."""
        place = (table, key_of(row))
        is_missing = self.get(*place) is None
        if is_missing:
            self._old.setdefault(place, None)
            self._new[place] = row
        return is_missing

    def delete(self, table: str, row: Row) -> None:
        place = (table, key_of(row))
        if place not in self._old:
            self._old[place] = self.state.get(*place)
        self._new[place] = None

    def rely(self, table: str, key: Key | str) -> None:
        """What is answered holds only if this row is as it is known, or, of
        PROVIDER_AGGREGATES, all rows of the provider with this id; of CONSUMERS: if
        there is one with this uuid as far as is known, or none."""
        self.relied.append((table, key))

    def new_id(self, table: str) -> int:
        """An id that nothing had before."""
        key = self._next_id.get(table)
        if key is None:
            key = self.state.next_id(table)
        self._next_id[table] = key + 1
        return key

    def ensure_name(self, table: str, name: str) -> int:
        """The id of a project, user, consumer type or aggregate, made if missing."""
        known = self.state.names[table].find(name)
        if known is not None:
            return known.id
        # One command may spell it in several ways that are one name in the table.
        place = (table, self.state.fold(name))
        made = self._made.get(place)
        if made is None:
            made = self._made[place] = self.new_id(table)
            self.change(table, None, NameRow(made, name, self.now, None))
        return made

    def is_claimed(self, provider_id: int, class_id: int) -> bool:
        """Whether this draft puts an allocation of the class on the provider."""
        return (provider_id, class_id) in self._claimed

    def bump(self, provider: ProviderRow) -> ProviderRow:
        """Raise the generation of a provider by one. ``provider``: as the State or this
        draft has it."""
        current = self._new.get((t.PROVIDERS, provider.id), provider)
        assert isinstance(current, ProviderRow), f"provider {provider.uuid} is deleted"
        bumped = replace(
            current, generation=current.generation + 1, updated_at=self.now
        )
        self.change(t.PROVIDERS, provider, bumped)
        return bumped

    def bump_once(self, provider: ProviderRow) -> None:
        """Bumps the provider's generation, but only the first time that it is asked
        to."""
        if provider.id not in self._bumped:
            self._bumped.add(provider.id)
            self.bump(provider)

    def changed(self, table: str) -> list[tuple[Row | None, Row | None]]:
        """What was there and what is, of each row of a table that it touched."""
        return [
            (self._old[place], new)
            for place, new in self._new.items()
            if place[0] == table
        ]

    def changes(self) -> tuple[Change, ...]:
        """All that differs: children go first, then updates, then parents come."""
        deleted: dict[str, list[Change]] = {}
        inserted: dict[str, list[Change]] = {}
        updated: list[Change] = []
        for place, new in self._new.items():
            (table, key), old = place, self._old[place]
            if new is None and old is not None:
                deleted.setdefault(table, []).append(Change(table, key, old, None))
            elif new is not None and old is None:
                inserted.setdefault(table, []).append(Change(table, key, None, new))
            elif new != old:
                updated.append(Change(table, key, old, new))
        found: list[Change] = []
        for table in sorted(deleted, key=_ORDER.__getitem__, reverse=True):
            found += deleted[table]
        found += updated
        for table in sorted(inserted, key=_ORDER.__getitem__):
            found += inserted[table]
        return tuple(found)
