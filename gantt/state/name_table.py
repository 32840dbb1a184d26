"""Names with ids: classes, traits, consumer types, projects, users, aggregates.

Each name has its database id and a dense index, which is its column in a BitMatrix and
its number in integer columns. Small tables, so plain Python containers serve; an index
of names compares them as the database does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from gantt.model.rows import NameRow

Fold = Callable[[str], str]


class NameTable:
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
        self.moves += 1
        index = self.index_by_id.pop(key)
        row = self._rows[index]
        assert row is not None
        del self._by_name[row.name]
        self._rows[index] = None
        self._free.append(index)

    def get(self, key: int) -> NameRow | None:
        index = self.index_by_id.get(key)
        return None if index is None else self._rows[index]

    def find(self, name: str) -> NameRow | None:
        """The row with this name, as the database compares names."""
        index = self._by_name.get(name)
        return None if index is None else self._rows[index]

    def index_of(self, name: str) -> int | None:
        return self._by_name.get(name)

    def numbers_of(self, name: str) -> tuple[int, int] | None:
        index = self._by_name.get(name)
        row = None if index is None else self._rows[index]
        return None if index is None or row is None else (row.id, index)

    def at(self, index: int) -> NameRow:
        """The row at a dense index that is in use."""
        row = self._rows[index]
        assert row is not None, f"no name at index {index}"
        return row

    def find_at(self, index: int) -> NameRow | None:
        """The row at a dense index; None: it is not in use."""
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def name_of_id(self, key: int) -> str:
        """The name with an id that exists."""
        return self.at(self.index_by_id[key]).name

    def rows(self) -> Iterator[NameRow]:
        """Every row, by ascending id."""
        return iter(
            sorted((row for row in self._rows if row is not None), key=lambda r: r.id)
        )


def exact(name: str) -> str:
    return name


def is_each_once(fold: Fold, names: Collection[str]) -> bool:
    """Whether no two of ``names`` are one to the database."""
    return len(names) < 2 or len({fold(name) for name in names}) == len(names)


_SAMPLE = "aA \u00e4 "


def names_index(fold: Fold | None) -> dict[str, int]:
    """An empty index from names to numbers. ``fold`` maps a name to what is compared
    of it; one that leaves a name like this as it is, like None, compares all of it."""
    is_exact = fold is None or fold(_SAMPLE) == _SAMPLE
    return {} if fold is None or is_exact else _Folded(fold)


class _Folded(dict[str, int]):
    """Keys are folded on the way in and when asked for."""

    def __init__(self, fold: Fold) -> None:
        super().__init__()
        self._fold = fold

    def __getitem__(self, name: str) -> int:
        return super().__getitem__(self._fold(name))

    def __setitem__(self, name: str, number: int) -> None:
        super().__setitem__(self._fold(name), number)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(self._fold(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(self._fold(name))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(self._fold(name), default)

    def update(self, *pairs: Any, **more: int) -> None:
        found: Iterable[tuple[str, int]] = dict(*pairs, **more).items()
        for name, number in found:
            self[name] = number

    def __deepcopy__(self, memo: Mapping[int, Any]) -> _Folded:
        copy = _Folded(self._fold)
        for name, number in self.items():
            dict.__setitem__(copy, name, number)
        return copy
