"""Names with ids: classes, traits, consumer types, projects, users, aggregates.

Each name has its database id and a dense index, which is its column in a BitMatrix and
its number in integer columns. Small tables, so plain Python containers serve.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.model.rows import NameRow
from gantt.state.folded import Fold, names_index


class Names:
    """One table of names; ``index`` numbers are reused after removal."""

    def __init__(self, fold: Fold | None = None) -> None:
        self._rows: list[NameRow | None] = []
        self._by_name = names_index(fold)
        self.index_by_id: dict[int, int] = {}
        self._free: list[int] = []
        # Moves when a name comes, goes or changes: an index may mean another then.
        self.moves = 0

    def __len__(self) -> int:
        return len(self.index_by_id)

    def put(self, row: NameRow) -> None:
        """Add the row, or take in its new values."""
        self.moves += 1
        index = self.index_by_id.get(row.id)
        if index is None:
            index = self._free.pop() if self._free else len(self._rows)
            if index == len(self._rows):
                self._rows.append(None)
            self.index_by_id[row.id] = index
        else:
            old = self._rows[index]
            assert old is not None
            del self._by_name[old.name]
        self._rows[index] = row
        self._by_name[row.name] = index

    def remove(self, key: int) -> None:
        """Forget the name with this id."""
        self.moves += 1
        index = self.index_by_id.pop(key)
        row = self._rows[index]
        assert row is not None
        del self._by_name[row.name]
        self._rows[index] = None
        self._free.append(index)

    def get(self, key: int) -> NameRow | None:
        """The row with this id."""
        index = self.index_by_id.get(key)
        return None if index is None else self._rows[index]

    def find(self, name: str) -> NameRow | None:
        """The row with this name, as the database compares names."""
        index = self._by_name.get(name)
        return None if index is None else self._rows[index]

    def index_of(self, name: str) -> int | None:
        """The dense index of a name."""
        return self._by_name.get(name)

    def numbers_of(self, name: str) -> tuple[int, int] | None:
        """The id and the dense index of a name."""
        index = self._by_name.get(name)
        row = None if index is None else self._rows[index]
        return None if index is None or row is None else (row.id, index)

    def at(self, index: int) -> NameRow:
        """The row at a dense index that is in use."""
        row = self._rows[index]
        assert row is not None, f"no name at index {index}"
        return row

    def name_of_id(self, key: int) -> str:
        """The name with an id that exists."""
        return self.at(self.index_by_id[key]).name

    def rows(self) -> Iterator[NameRow]:
        """Every row, by ascending id."""
        return iter(
            sorted((row for row in self._rows if row is not None), key=lambda r: r.id)
        )
