"""The plain ways to fill hosts, to compare with: first fit, random, best fit, and the
dot product of what is asked and what is free.

They are weighers for replays alone: each is made for a fleet, whose largest host of
each class is the unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from gantt.replay.machines import Machine
from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request import shape
from gantt.state.column import Floats

_CACHEABLE: Final = Cacheable(
    needs=("provider", "rooms"),
    reads=("flavor", "image", "is_bfv", "requested_resources"),
    elementwise=True,
)


def largest(machines: Sequence[Machine]) -> dict[str, float]:
    """Class -> what the host with the most has of it, all its providers together."""
    found: dict[str, float] = {}
    for machine in machines:
        mine: dict[str, float] = {}
        for stock in (machine.inventories, *(one.inventories for one in machine.parts)):
            for name, one in stock.items():
                size = (one.total - one.reserved) * one.allocation_ratio
                mine[name] = mine.get(name, 0.0) + size
        for name, size in mine.items():
            found[name] = max(size, found.get(name, 0.0))
    return {name: size for name, size in found.items() if size > 0}


class _OfFleet(Weigher):
    """``units``: class -> the amount that counts as 1."""

    cacheable = _CACHEABLE

    def __init__(self, units: Mapping[str, float]) -> None:
        self._units = dict(units)

    def _parts(self, hosts: Hosts, request: Request) -> list[tuple[float, Floats]]:
        """For each class what is asked, and float64[n] what is free, in its unit."""
        asked = {name: sum(each) for name, each in shape.pieces(request.spec).items()}
        found = []
        for name, unit in self._units.items():
            free = np.maximum(hosts.left_of(name), 0.0).sum(1)
            found.append((asked.get(name, 0) / unit, free / unit))
        return found


class BestFit(_OfFleet):
    """The host that has the least left, over all classes together."""

    cacheable = _CACHEABLE

    def score(self, hosts: Hosts, request: Request) -> Floats:
        scores = np.zeros(len(hosts))
        for _, free in self._parts(hosts, request):
            scores -= free
        return scores


class DotProduct(_OfFleet):
    """The host on which most is free of what is asked for most."""

    cacheable = _CACHEABLE

    def score(self, hosts: Hosts, request: Request) -> Floats:
        scores = np.zeros(len(hosts))
        for asked, free in self._parts(hosts, request):
            scores += asked * free
        return scores
