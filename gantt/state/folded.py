"""Indexes of names that compare names as the database does.

Apart from the tables that use them: where every letter counts, a plain ``dict`` does,
and costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

Fold = Callable[[str], str]


def exact(name: str) -> str:
    """Every letter counts."""
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
