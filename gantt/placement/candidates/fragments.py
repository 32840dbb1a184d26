"""Texts of providers, kept until something about them changes, and woven into lists.

Apart from what writes answers because it is array work: a thousand providers are looked
up, and a thousand candidates put together, without a Python call for each. What the
texts say is none of its business.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.placement.candidates.search_answer import Rows
from gantt.state.state import State

Texts = NDArray[np.object_]
# For each place of a combination, the first place that has the same provider.
Pattern = tuple[int, ...]

_NEVER = -1


class Fragments:
    """A text for each provider, as ``make(state, rows)`` writes it, one per row.

    Made when first asked for, and again when ``touched`` of its row has moved. Of one
    state at a time; beyond ``most`` all are dropped. Not thread safe: calls come under
    the lock that protects the state.
    """

    def __init__(
        self, make: Callable[[State, list[int]], Iterable[bytes]], *, most: int
    ) -> None:
        self._make = make
        self._most = most
        self._state: weakref.ref[State] = weakref.ref(State())
        self._forget()

    def of(self, state: State, rows: Rows) -> Texts:
        """object[as ``rows``]: bytes, in an array of the caller's own."""
        if self._state() is not state or self._count > self._most:
            self._forget()
            self._state = weakref.ref(state)
        self._reserve(state.providers.height)
        touched = state.providers.touched
        is_stale = self._stamps[rows] != touched[rows]
        if is_stale.any():
            stale = np.unique(rows[is_stale])
            self._count += int((self._stamps[stale] == _NEVER).sum())
            self._texts[stale] = list(self._make(state, stale.tolist()))
            self._stamps[stale] = touched[stale]
        return self._texts[rows]

    def _forget(self) -> None:
        self._count = 0
        self._texts: Texts = np.empty(0, np.object_)
        self._stamps = np.empty(0, np.int64)

    def _reserve(self, height: int) -> None:
        known = len(self._stamps)
        if height > known:
            more = max(height, 2 * known) - known
            self._texts = np.append(self._texts, np.empty(more, np.object_))
            self._stamps = np.append(self._stamps, np.full(more, _NEVER, np.int64))


class Template(Struct, frozen=True):
    """A text with holes: ``pieces`` are what stands around them, one more than
    ``holes``, each filled for the provider at that place of a combination."""

    pieces: tuple[bytes, ...]
    holes: tuple[int, ...]


def weave(
    combinations: Rows, texts: Texts, template: Callable[[Pattern], Template]
) -> Texts:
    """object[combinations, pieces]: one after another, row by row, they are the text of
    all combinations. ``texts``: what fills a hole, in the shape of ``combinations``.

    Picks of one pattern differ in their providers alone, so that ``template`` is
    asked once for each.
    """
    kinds = [(template(pattern), mine) for pattern, mine in _patterns(combinations)]
    most = max((len(kind.pieces) for kind, _ in kinds), default=1)
    woven = np.full((len(combinations), 2 * most - 1), b"", np.object_)
    for kind, mine in kinds:
        for number, piece in enumerate(kind.pieces):
            woven[mine, 2 * number] = piece
        for number, place in enumerate(kind.holes):
            woven[mine, 2 * number + 1] = texts[mine, place]
    return woven


def _patterns(combinations: Rows) -> list[tuple[Pattern, Rows | slice]]:
    """Every pattern, and which combinations have it."""
    count, size = combinations.shape
    if (combinations == combinations[:, :1]).all():
        return [((0,) * size, slice(None))] if count else []
    firsts = np.stack(
        [
            (combinations[:, : place + 1] == combinations[:, place, None]).argmax(
                axis=1
            )
            for place in range(size)
        ],
        axis=1,
    )
    patterns, kinds, counts = np.unique(
        firsts, axis=0, return_inverse=True, return_counts=True
    )
    by_kind = np.argsort(kinds.ravel(), kind="stable")
    parts = np.split(by_kind, np.cumsum(counts)[:-1])
    return list(zip(map(tuple, patterns.tolist()), parts, strict=True))
