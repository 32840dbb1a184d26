"""Which domains may take one more while not all is placed that a relation counts."""

from __future__ import annotations

import numpy as np

from gantt.placement.domain_rules import DomainCounts, least
from gantt.state.column import Bools
from gantt.state.domains import NO_DOMAIN


def may_be_open(one: DomainCounts, left: int) -> Bools:
    """bool[domains]: no less than there are. ``left``: how many are to come that are
    counted; they may raise the least of a spread later, or be near."""
    if one.relation.kind == "near" and left:
        every: Bools = np.arange(len(one.counts)) != NO_DOMAIN
        return every
    if one.relation.kind != "spread":
        return one.open()
    found = one.counts < one.relation.most + _highest_least(one, left)
    found[NO_DOMAIN] = False
    return found


def _highest_least(one: DomainCounts, left: int) -> int:
    """What the domain with the least may have once ``left`` more are placed."""
    low = least(one.relation, one.counts, one.eligible)
    counts = one.counts[one.eligible]
    if len(counts) < max(one.relation.min_domains, 1):
        return low
    return low + _water((counts - low).tolist(), left)


def _water(above: list[int], left: int) -> int:
    """By how much ``left`` units raise the lowest of some columns at most."""
    rise, spare = 0, left
    for place, height in enumerate(sorted(above)):
        spare -= (height - rise) * place
        if spare < 0:
            return rise + (spare + (height - rise) * place) // place
        rise = height
    return rise + spare // len(above)
