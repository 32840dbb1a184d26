"""The policies that are compared, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.replay.events import Arrival
from gantt.replay.machines import Machine
from gantt.replay.packing.baselines import BestFit, DotProduct, largest
from gantt.scheduler.contract import Weigher
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import caching, chance
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy, policy_of
from gantt.scheduler.request import shape
from gantt.scheduler.request.usual_flavors import MOST

USUAL: Final = 40
"""So many of the trace's flavors are told to ours: those that ask for most."""


_Pieces = tuple[tuple[str, tuple[int, ...]], ...]


class Case(Struct, frozen=True):
    """What policies are made for. ``usual``: the option ``usual_flavors``."""

    options: SchedulerOptions
    machines: tuple[Machine, ...]
    usual: tuple[str, ...]


def usual_of(arrivals: Iterable[Arrival], most: int = USUAL) -> tuple[str, ...]:
    """The flavors that ask for most, all their instances together, as the option
    ``usual_flavors`` has them. A large one that is rare is among them: where it is not
    told, no host is kept whole for it."""
    counts: Counter[_Pieces] = Counter()
    asked: Counter[str] = Counter()
    for arrival in arrivals:
        pieces = shape.pieces(arrival.spec)
        counts[tuple(pieces.items())] += len(arrival.names)
        for name, each in pieces.items():
            asked[name] += sum(each) * len(arrival.names)

    def part(amounts: _Pieces) -> float:
        found = sum(sum(each) / asked[name] for name, each in amounts if asked[name])
        return counts[amounts] * found

    return tuple(
        f"{counts[amounts]}x"
        f"{','.join(f'{name}={_amount(each)}' for name, each in amounts)}"
        for amounts in sorted(counts, key=part, reverse=True)[: min(most, MOST)]
        if amounts
    )


def _amount(each: Sequence[int]) -> str:
    """Pieces of one flavor are alike in all traces here; others count as the
    largest."""
    return f"{each[0]}*{len(each)}" if len(each) > 1 else str(each[0])


def _ours(packing: str) -> Callable[[Case], Driver]:
    def make(case: Case) -> Driver:
        options = replace(case.options, packing=packing, usual_flavors=case.usual)
        return caching(policy_of(options))

    return make


def _by(weigher: Callable[[dict[str, float]], Weigher] | None) -> Callable[..., Driver]:
    """The usual filters, and ``weigher`` alone; None: the first host that fits."""

    def make(case: Case) -> Driver:
        packing = "spread" if weigher is None else "stack"
        policy = policy_of(replace(case.options, packing=packing))
        made = () if weigher is None else (weigher(largest(case.machines)),)
        return caching(Policy(policy.options, policy.filters, made))

    return make


def _random(case: Case) -> Driver:
    return chance(policy_of(case.options))


POLICIES: Final[dict[str, Callable[[Case], Driver]]] = {
    "spread": _ours("spread"),
    "stack": _ours("stack"),
    "room": _ours("room"),
    "first-fit": _by(None),
    "best-fit": _by(BestFit),
    "dot-product": _by(DotProduct),
    "random": _random,
}
"""``spread``, ``stack`` and ``room`` are values of the option ``packing``; the others
are there to compare with."""
