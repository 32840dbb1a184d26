"""Which providers share, and with which trees.

Sharing is the one way for a tree to use a provider outside it. It is separate because
it is the one part of the search where a provider counts under several roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.state.column import Bools
from gantt.state.state import State


class Sharing:
    """The sharing providers of a State, as long as one search lasts."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._anchors: dict[tuple[int, ...], Bools] = {}
        trait = state.traits.index_of(SHARES_VIA_AGGREGATE)
        height = state.providers.height
        self.mask: Bools = (
            np.zeros(height, np.bool_)
            if trait is None
            else state.provider_traits.any_of((trait,), height)
        )
        rows = np.flatnonzero(self.mask)
        order = np.argsort(state.providers.id[rows])
        self.rows: tuple[int, ...] = tuple(rows[order].tolist())

    def anchors(self, row: int) -> Bools:
        """bool[providers]: roots of trees that may use the sharing provider at ``row``:
        those with a member, at any depth, in one of the provider's aggregates."""
        labels = tuple(self._state.provider_aggregates.labels_of(row))
        known = self._anchors.get(labels)
        if known is None:
            known = self._anchors[labels] = self._anchors_of(labels)
        return known

    def useful(self, masks: Sequence[Bools]) -> tuple[int, ...]:
        """Sharing providers that are in some of ``masks``."""
        return tuple(row for row in self.rows if any(mask[row] for mask in masks))

    def hosts(self, rows: Iterable[int]) -> Bools:
        """bool[providers]: roots of trees that may use a provider of ``rows`` which
        is not theirs."""
        found = np.zeros(self._state.providers.height, np.bool_)
        for row in rows:
            reach = self.anchors(row).copy()
            reach[self._state.providers.root[row]] = False
            found |= reach
        return found

    def _anchors_of(self, labels: tuple[int, ...]) -> Bools:
        providers = self._state.providers
        found = np.zeros(providers.height, np.bool_)
        members = self._state.provider_aggregates.any_of(labels, providers.height)
        found[providers.root[: providers.height][members]] = True
        return found
