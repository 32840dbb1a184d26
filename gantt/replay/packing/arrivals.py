"""The arrivals of a trace, made ready for a comparison of how policies fill hosts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.replay.events import Arrival
from gantt.replay.machines import Machine
from gantt.scheduler.request import shape

_GAP_US = 1_000_000


class Scarce(Struct, frozen=True):
    """The resource class of which the trace asks for most, as a part of what the fleet
    has. ``capacity``: of the fleet."""

    name: str
    capacity: float

    def of(self, arrival: Arrival) -> int:
        """What all instances of the arrival ask for."""
        return asked_of(arrival)[self.name]


def asked_of(arrival: Arrival) -> Counter[str]:
    """Class -> what all instances of the arrival ask for together."""
    found: Counter[str] = Counter()
    for name, each in shape.pieces(arrival.spec).items():
        found[name] = sum(each) * len(arrival.names)
    return found


def capacity_of(machines: Sequence[Machine]) -> Counter[str]:
    """Class -> what all machines have, floored."""
    found: Counter[str] = Counter()
    for machine in machines:
        for stock in (machine.inventories, *(one.inventories for one in machine.parts)):
            for name, one in stock.items():
                found[name] += int((one.total - one.reserved) * one.allocation_ratio)
    return found


def scarce_of(arrivals: Iterable[Arrival], machines: Sequence[Machine]) -> Scarce:
    """Raises Invalid where nothing is asked for that the fleet has."""
    capacity = capacity_of(machines)
    asked: Counter[str] = Counter()
    for one in arrivals:
        asked.update(asked_of(one))
    known = [name for name in asked if capacity[name] > 0 and asked[name] > 0]
    if not known:
        raise Invalid("The trace asks for nothing that the fleet has.")
    name = max(known, key=lambda one: (asked[one] / capacity[one], one))
    return Scarce(name, float(capacity[name]))


def filling(
    arrivals: Sequence[Arrival], scarce: Scarce, fill: float, seed: int
) -> list[Arrival]:
    """The arrivals in random order, and others drawn from them, until they ask for
    ``fill`` times the scarce class; or so many of them. None of them goes again."""
    dice = random.Random(seed)  # noqa: S311 - to be repeated
    chosen, goal = list(arrivals), fill * scarce.capacity
    dice.shuffle(chosen)
    asked = sum(map(scarce.of, chosen))
    if not asked:
        raise Invalid(f"The trace asks for no {scarce.name}.")
    while asked < goal:
        one = dice.choice(arrivals)
        chosen.append(one)
        asked += scarce.of(one)
    while chosen and asked - scarce.of(chosen[-1]) >= goal:
        asked -= scarce.of(chosen.pop())
    dice.shuffle(chosen)
    return [
        replace(
            one,
            at=number * _GAP_US,
            names=tuple(f"{number}-{place}" for place in range(len(one.names))),
            until=(None,) * len(one.names),
        )
        for number, one in enumerate(chosen)
    ]


def one_in(arrivals: Iterable[Arrival], count: int, seed: int) -> Iterator[Arrival]:
    """One of ``count`` arrivals, drawn from ``seed``."""
    dice = random.Random(seed)  # noqa: S311 - to be repeated
    return (one for one in arrivals if count == 1 or not dice.randrange(count))
