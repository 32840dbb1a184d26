"""The usual flavors as arrays, and how much room hosts have for them.

Separate from the weigher because it is the same for all requests: made once of the
option, and asked with whatever is left of hosts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct

from gantt.scheduler.request.usual_flavors import (
    OF_HOSTS,
    UsualFlavor,
    usual_flavors,
)
from gantt.state.column import Floats, Int64s

Left = dict[str, Floats]
"""Class -> float64[n, width]: what each provider of each host has left; of what hosts
report, width 1."""


class _Pieces(Struct, frozen=True, eq=False):
    """The pieces of one class. ``sizes``: float64[sizes], those asked for; ``size_of``,
    ``count``: int64[flavors], 0 pieces where a flavor asks for none."""

    sizes: Floats
    size_of: Int64s
    count: Floats


class WorkloadMix(Struct, frozen=True, eq=False):
    """``worth``: float64[flavors], share times worth. ``whole``: of what hosts report,
    float64[flavors] by class; ``pieces``: of other classes."""

    worth: Floats
    whole: dict[str, Floats]
    pieces: dict[str, _Pieces]

    @property
    def classes(self) -> frozenset[str]:
        """Those that any flavor asks for."""
        return frozenset((*self.whole, *self.pieces))

    def room(self, left: Left) -> Floats:
        """float64[n]: how many mean flavors each host has place for. Parts count of
        what a host has as a whole; of the pieces of providers whole ones alone."""
        size = len(next(iter(left.values())))
        if not len(self.worth):
            return np.zeros(size)
        fits = np.full((size, len(self.worth)), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, amounts in self.whole.items():
                found = np.where(amounts > 0, left[name] / amounts, np.inf)
                np.minimum(fits, found, out=fits)
            for name, one in self.pieces.items():
                found = _whole_pieces(left[name], one)
                np.minimum(fits, found, out=fits)
        fits[np.isinf(fits)] = 0.0
        room: Floats = fits @ self.worth
        return room


def _whole_pieces(left: Floats, one: _Pieces) -> Floats:
    """float64[n, flavors]: how many instances of each flavor get their pieces."""
    each = np.floor(np.maximum(left, 0.0)[:, :, None] / one.sizes).sum(1)
    return np.where(one.count > 0, np.floor(each[:, one.size_of] / one.count), np.inf)


@lru_cache(maxsize=8)
def mix_of(texts: tuple[str, ...]) -> WorkloadMix:
    """The flavors that the option ``usual_flavors`` names. Raises Refused."""
    usual = usual_flavors(texts)
    classes = sorted({name for one in usual for name in one.amounts})
    return WorkloadMix(
        np.array([one.share * one.worth for one in usual]),
        {name: _amounts(usual, name) for name in classes if name in OF_HOSTS},
        {name: _pieces(usual, name) for name in classes if name not in OF_HOSTS},
    )


def _amounts(usual: tuple[UsualFlavor, ...], name: str) -> Floats:
    each = [one.amounts.get(name, (0, 0)) for one in usual]
    return np.array([amount * count for amount, count in each], np.float64)


def _pieces(usual: tuple[UsualFlavor, ...], name: str) -> _Pieces:
    each = [one.amounts.get(name, (1, 0)) for one in usual]
    sizes, size_of = np.unique([amount for amount, _ in each], return_inverse=True)
    count = np.array([count for _, count in each], np.float64)
    return _Pieces(sizes.astype(np.float64), size_of.astype(np.int64), count)
