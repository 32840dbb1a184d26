"""Selects a host per instance, best first, and others to fall back on.

The exact search runs only on the hosts that would be taken, in the order of their
weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from gantt.errors import BudgetSpent
from gantt.model.answers import Candidate
from gantt.placement.candidates.combination import Spent
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.topology_fit import FitsSpent
from gantt.state.column import Bools, Floats


class RandomSource(Protocol):
    """The caller's source of randomness: an instance of random.Random."""

    def randrange(self, stop: int, /) -> int:
        """A number from 0 below ``stop``."""

    def shuffle(self, places: list[Any], /) -> None:
        """Any order, in place."""


class Pick(Struct, frozen=True, gc=False):
    """A host, by its row in ``state.hosts`` and its id, and a candidate on it."""

    row: int
    host_id: int
    candidate: Candidate


def seed_of(rng: RandomSource | None) -> int:
    """For a plug-in that draws by itself, in a thread of its own."""
    return 0 if rng is None else rng.randrange(2**32)


def choices_per_instance(options: SchedulerOptions, count: int) -> int:
    """How many alternative hosts a claim has for each of ``count`` instances: a list
    for every one of a thousand would cost more than a lost race."""
    return min(options.choices, options.claim_choices // (count or 1)) or 1


def select(
    remaining: RemainingHosts,
    candidates: RemainingCandidates,
    uuids: tuple[str, ...],
    options: SchedulerOptions,
    rng: RandomSource | None,
    *,
    among: int = 0,
    has_alternates: bool = False,
    is_trial: bool = False,
    pause: Callable[[], None] = lambda: None,
) -> list[list[Pick]]:
    """Per instance the places to try in order. It is shorter than ``uuids`` when hosts
    run out. ``among``: of so many of its demand. ``has_alternates``: a single instance
    gets as many places as its alternates need, and the last of several is taken too, so
    that ``remaining`` and ``candidates`` include all of them. ``is_trial``: one place
    for each is enough. ``pause``: between two picks. Raises BudgetSpent, and what
    ``pause`` does."""
    most = 1 if is_trial else choices_per_instance(options, among or len(uuids))
    is_alone = len(uuids) == 1
    if has_alternates and is_alone:
        most = max(most, options.max_attempts)
    picked: list[list[Pick]] = []
    for number, uuid in enumerate(uuids):
        found = best_picks(remaining, candidates, most, options, rng)
        while not found and remaining.shut is not None:
            tried, left = remaining.left().tolist(), len(uuids) - number
            if not remaining.settle_again(tried, left):
                break
            found = best_picks(remaining, candidates, most, options, rng)
        if not found:
            break
        picked.append([pick for _, pick in found])
        at, pick = found[0]
        is_last = number + 1 == len(uuids)
        if not is_last or (has_alternates and not is_alone):
            candidates.take_on(pick.row, pick.candidate)
            remaining.consume(at, uuid, "" if is_last else uuids[number + 1])
            candidates.renew()
            pause()
    return picked


def best_picks(
    remaining: RemainingHosts,
    candidates: RemainingCandidates,
    most: int,
    options: SchedulerOptions,
    rng: RandomSource | None,
    *,
    sure: int = 1,
) -> list[tuple[int, Pick]]:
    """Up to ``most`` hosts that have a candidate: (place in ``remaining``, Pick). The
    first ``sure`` of them have cells and devices too; of the others the committer
    finds out, should it come to them."""
    found: list[tuple[int, Pick]] = []
    if not len(remaining.hosts.rows):
        return found
    rows, table = remaining.hosts.rows, remaining.hosts.fleet.hosts
    try:
        for places in in_order(remaining, max(most, 1), options, rng):
            host_rows = rows[places].tolist()
            keys = table.id[host_rows].tolist()
            each = candidates.find_each(host_rows)
            for at, row, key, candidate in zip(
                places, host_rows, keys, each, strict=True
            ):
                if candidate is None or row in remaining.full:
                    continue
                if len(found) < sure and candidates.fitting is not None:
                    candidate = candidates.fitting_one(row, candidate)
                if candidate is not None:
                    found.append((at, Pick(row, key, candidate)))
                    if len(found) == most:
                        return found
    except FitsSpent:
        if not found:
            raise BudgetSpent(
                f"The instance was fitted into the cells and devices of "
                f"{options.topology_fits} hosts, the limit, and fits none of them. Ask "
                "for another topology, or raise topology_fits of [scheduler]."
            ) from None
    except Spent:
        if not found:
            raise BudgetSpent(
                "The search for a place on the best hosts met its limit before it "
                "found one. Ask for fewer groups, or raise search_budget of [gantt]."
            ) from None
    return found


def spare_picks(
    remaining: RemainingHosts,
    candidates: RemainingCandidates,
    picked: int,
    options: SchedulerOptions,
    rng: RandomSource | None,
) -> tuple[Pick, ...]:
    """For the alternates of ``picked`` instances; Nova builds on up to ``max_attempts``
    hosts. Every instance has its host: a lack of alternates refuses none."""
    most = picked + options.max_attempts
    with suppress(BudgetSpent):
        found = best_picks(remaining, candidates, most, options, rng, sure=most)
        return tuple(pick for _, pick in found)
    return ()


def in_order(
    remaining: RemainingHosts,
    size: int,
    options: SchedulerOptions,
    rng: RandomSource | None,
) -> Iterator[list[int]]:
    """Places by weight, the best first, ``size`` at a time; the very first is drawn
    from the best ``host_subset_size``. The later ones are sorted on demand. Where a
    driver of another package chose: as it says."""
    if remaining.chosen is not None:
        places = remaining.to_try(remaining.chosen).tolist()
        for start in range(0, len(places), size):
            yield places[start : start + size]
        return
    weights, shut, count = remaining.weights, remaining.shut, len(remaining.weights)
    if shut is not None:
        count -= int(np.count_nonzero(shut))
        if not count:
            return
    subset = min(options.host_subset_size, count)
    first = min(max(size, subset), count)
    order = remaining.best(first)[:first].tolist()
    if rng is not None and options.shuffle_best_same_weighed_hosts:
        order = _shuffled(weights, order, rng, shut)
    if rng is not None and subset > 1:
        chosen = order.pop(rng.randrange(subset))
        order.insert(0, chosen)
    for start in range(0, len(order), size):
        yield order[start : start + size]
    if first < count:
        seen = set(order)
        whole = (
            host_weights.best(weights, count) if shut is None else remaining.best(count)
        ).tolist()
        rest = [at for at in whole if at not in seen]
        for start in range(0, len(rest), size):
            yield rest[start : start + size]


def _shuffled(
    weights: Floats, order: list[int], rng: RandomSource, shut: Bools | None
) -> list[int]:
    """All of them, those equal to the best in random order."""
    is_equal_to_best = weights == weights[order[0]]
    if shut is not None:
        is_equal_to_best &= ~shut
    equals = np.flatnonzero(is_equal_to_best).tolist()
    rng.shuffle(equals)
    is_equal = set(equals)
    return equals + [at for at in order if at not in is_equal]
