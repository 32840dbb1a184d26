"""The columns of a listing, and what of each thing that is listed is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any


class TextColumns:
    """``names``, with spaces between. What a column has of a thing is its attribute of
    that name, or what a function ``made`` for the column has."""

    def __init__(self, names: str, **made: Callable[[Any], Any]) -> None:
        self.names = tuple(names.split())
        self._cells = [made.get(name) or attrgetter(name) for name in self.names]

    def row(self, one: object) -> tuple[Any, ...]:
        """The cells of one thing."""
        return tuple(cell(one) for cell in self._cells)

    def rows(self, found: Iterable[object]) -> Iterator[tuple[Any, ...]]:
        """A row for each thing."""
        return map(self.row, found)

    def record(self, one: object) -> dict[str, Any]:
        """The cells of one thing, by their columns."""
        return dict(zip(self.names, self.row(one), strict=True))
