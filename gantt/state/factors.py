"""What only some rules read of a report: as a code per host and distinct values.

Apart from the columns because it is made on first use, of whatever path is asked for:
a rule is then judged once per value instead of once per host.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from gantt.state.column import Int32s

Path = tuple[str, ...]

_MOST_FACTORS = 64
_SPARE_VALUES = 1024
_MISSING = object()


class Factor:
    """``codes``: int32 per host row; ``values[code]``: what it stands for."""

    def __init__(self, path: Path, capacity: int) -> None:
        self.path = path
        self.codes: Int32s = np.zeros(capacity, np.int32)
        self.values: list[Any] = [None]
        self._code_of: dict[bytes, int] = {b"": 0}

    def set(self, row: int, stats: dict[str, Any]) -> None:
        """Take in what the host at ``row`` reports."""
        self.reserve(row + 1)
        value = walk(stats, self.path)
        key = b"" if value is _MISSING else msgspec.json.encode(value, order="sorted")
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self.values)
            self.values.append(value)
        self.codes[row] = code

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` rows in all."""
        if capacity > len(self.codes):
            grown = np.zeros(max(2 * len(self.codes), capacity), np.int32)
            grown[: len(self.codes)] = self.codes
            self.codes = grown


class Factors:
    """The factors that were asked for; the oldest goes when there are too many."""

    def __init__(self) -> None:
        self._by_path: dict[Path, Factor] = {}

    def find(self, path: Path) -> Factor | None:
        """The factor of ``path``, if it is kept."""
        return self._by_path.get(path)

    def all(self) -> Iterable[Factor]:
        return self._by_path.values()

    def add(self, factor: Factor) -> None:
        """Keep a factor that was made elsewhere."""
        self._by_path[factor.path] = factor

    def make(
        self, path: Path, capacity: int, reports: Iterable[tuple[int, dict[str, Any]]]
    ) -> Factor:
        """A new factor of ``reports`` by row."""
        while len(self._by_path) >= _MOST_FACTORS:
            del self._by_path[next(iter(self._by_path))]
        made = self._by_path[path] = Factor(path, capacity)
        for row, stats in reports:
            # Of a path that requests make up, most hosts report nothing.
            if walk(stats, path) is not _MISSING:
                made.set(row, stats)
        return made

    def forget(self, row: int) -> None:
        """There is no host at ``row`` any more."""
        for factor in self._by_path.values():
            factor.set(row, {})

    def change(
        self, row: int, old: dict[str, Any], new: dict[str, Any], capacity: int
    ) -> None:
        """The host at ``row`` reports ``new`` after ``old``."""
        for path, factor in tuple(self._by_path.items()):
            factor.reserve(capacity)
            if _same(old.get(path[0], _MISSING), new.get(path[0], _MISSING)):
                continue
            factor.set(row, new)
            # What is different in every report is made anew rather than kept forever.
            if len(factor.values) > 2 * capacity + _SPARE_VALUES:
                del self._by_path[path]


def walk(stats: Any, path: Path) -> Any:
    """What stands at ``path`` of nested objects; an object of its own when nothing.

    Objects kept as JSON text are read on the way; metrics are found by their names.
    """
    for depth, name in enumerate(path):
        if isinstance(stats, str):
            stats = _decoded(stats)
        elif isinstance(stats, list) and depth == 1 and path[0] == "metrics":
            stats = {one.get("name"): one for one in stats if isinstance(one, dict)}
        if not isinstance(stats, dict) or name not in stats:
            return _MISSING
        stats = stats[name]
    return stats


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _same(old: Any, new: Any) -> bool:
    """Whether both are encoded alike, as far as a glance tells."""
    return old is new or (type(old) is str and type(new) is str and old == new)
