"""Resource providers as columns, and the forest that they form.

Parents and roots are row numbers here, so that a search joins trees by integers;
``touched`` moves whenever anything that is said of the row may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np

from gantt.model.rows import ProviderRow
from gantt.state.column import (
    NO_ROW,
    NO_TIME,
    DatedColumns,
    Int32s,
    Int64s,
)
from gantt.state.name_table import Fold, names_index


class Forest:
    """Parents and children, by row number. Costs nothing for providers without any."""

    def __init__(self) -> None:
        self._children: dict[int, dict[int, None]] = {}

    @property
    def is_flat(self) -> bool:
        """Whether no provider has a parent."""
        return not self._children

    def attach(self, child: int, parent: int) -> None:
        self._children.setdefault(parent, {})[child] = None

    def detach(self, child: int, parent: int) -> None:
        children = self._children[parent]
        del children[child]
        if not children:
            del self._children[parent]

    def children(self, row: int) -> tuple[int, ...]:
        """The children of ``row``, oldest first."""
        return tuple(self._children.get(row, ()))

    def subtree(self, row: int) -> Iterator[int]:
        """``row`` and all that descends from it, parents before children."""
        pending = [row]
        while pending:
            current = pending.pop()
            yield current
            pending.extend(reversed(self.children(current)))


class Providers(DatedColumns):
    """One row per provider. ``root`` and ``parent`` hold rows (NO_ROW: no parent)."""

    specs: ClassVar = {
        "id": (np.int64, 0),
        "generation": (np.int64, 0),
        "root": (np.int32, NO_ROW),
        "parent": (np.int32, NO_ROW),
        **DatedColumns.specs,
        "touched": (np.int64, 0),
    }
    id: Int64s
    generation: Int64s
    root: Int32s
    parent: Int32s
    touched: Int64s

    def __init__(self, fold: Fold | None = None) -> None:
        super().__init__()
        self.forest = Forest()
        # Moves when a provider comes, goes, or gets another parent or begins to share.
        self.structure = 0
        self.uuids: list[str] = []
        self.names: list[str] = []
        self.row_by_id: dict[int, int] = {}
        self._by_uuid = names_index(fold)
        self._by_name = names_index(fold)

    def row_of(self, uuid: str) -> int | None:
        return self._by_uuid.get(uuid)

    def row_of_name(self, name: str) -> int | None:
        """The row of a name, as the database compares names."""
        return self._by_name.get(name)

    def find(self, uuid: str) -> ProviderRow | None:
        row = self._by_uuid.get(uuid)
        return None if row is None else self.at(row)

    def get(self, key: int) -> ProviderRow | None:
        row = self.row_by_id.get(key)
        return None if row is None else self.at(row)

    def at(self, row: int) -> ProviderRow:
        """The values of a live row."""
        parent = int(self.parent[row])
        return ProviderRow(
            int(self.id[row]),
            self.uuids[row],
            self.names[row],
            int(self.generation[row]),
            int(self.id[self.root[row]]),
            None if parent == NO_ROW else int(self.id[parent]),
            *self.dates(row),
        )

    def cyclic_row(self) -> int:
        """A row that is its own ancestor, or descends from such a one; NO_ROW: none.
        Each step looks twice as far up, so that there are few."""
        if self.forest.is_flat:
            return NO_ROW
        above = np.where(self.is_live, self.parent, NO_ROW)[: self.height]
        for _ in range(self.height.bit_length() + 1):
            rows = np.flatnonzero(above != NO_ROW)
            if not len(rows):
                return NO_ROW
            above[rows] = above[above[rows]]
        left = np.flatnonzero(above != NO_ROW)
        return int(left[0]) if len(left) else NO_ROW

    def put(self, values: ProviderRow) -> int:
        """Add the provider or take in its new values; parent and root must exist."""
        row = self.row_by_id.get(values.id)
        if row is None:
            row = self._enter(values)
        self._place(row, values)
        return row

    def load(self, rows: Iterable[ProviderRow]) -> None:
        """Add many at once; they may name one another in any order."""
        pairs = [(self._enter(values), values) for values in rows]
        for row, values in pairs:
            self._place(row, values)

    def remove(self, key: int) -> None:
        """Forget a provider that has no children."""
        self.structure += 1
        row = self.row_by_id.pop(key)
        parent = int(self.parent[row])
        if parent != NO_ROW:
            self.forest.detach(row, parent)
        del self._by_uuid[self.uuids[row]]
        del self._by_name[self.names[row]]
        self.uuids[row] = self.names[row] = ""
        self.give_back(row)

    def tree(self, row: int) -> Iterator[int]:
        """All rows of the tree that ``row`` is in, the root first."""
        return self.forest.subtree(int(self.root[row]))

    def rows(self) -> Iterator[ProviderRow]:
        """Every provider, by ascending id."""
        return (self.at(self.row_by_id[key]) for key in sorted(self.row_by_id))

    def by_age(self) -> list[int]:
        """Row numbers by ascending id."""
        return [self.row_by_id[key] for key in sorted(self.row_by_id)]

    def _enter(self, values: ProviderRow) -> int:
        self.structure += 1
        row = self.take()
        if row == len(self.uuids):
            self.uuids.append("")
            self.names.append("")
        self.id[row] = values.id
        self.uuids[row] = values.uuid
        self.names[row] = values.name
        self.row_by_id[values.id] = row
        self._by_uuid[values.uuid] = row
        self._by_name[values.name] = row
        return row

    def _place(self, row: int, values: ProviderRow) -> None:
        if self.names[row] != values.name:
            # Within one revision another provider may have taken the name already.
            old = self.names[row]
            if self._by_name.get(old) == row:
                del self._by_name[old]
            self.names[row] = values.name
            self._by_name[values.name] = row
        self.generation[row] = values.generation
        self.root[row] = self.row_by_id[values.root_provider_id]
        created_at, updated_at = values.created_at, values.updated_at
        self.created_at[row] = NO_TIME if created_at is None else created_at
        self.updated_at[row] = NO_TIME if updated_at is None else updated_at
        before = int(self.parent[row])
        key = values.parent_provider_id
        parent = NO_ROW if key is None else self.row_by_id[key]
        if parent != before:
            self.structure += 1
            if before != NO_ROW:
                self.forest.detach(row, before)
            if parent != NO_ROW:
                self.forest.attach(row, parent)
            self.parent[row] = parent
