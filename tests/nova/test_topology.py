"""Nova's functions that fit an instance to NUMA cells and devices, and ours: the same
hosts pass, the same cells, CPUs, pages and pools are taken, and the same is left.

GANTT_NOVA_EXAMPLES makes a run longer (8 cases each), GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from gantt.model.topology import Fit, FitLack
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.nova import known_topology as known
from tests.nova.fits import Case, case
from tests.nova.pair import EXAMPLES, SEED, Tell, tell
from tests.nova.upstream_topology import (
    Sides,
    as_pool,
    ascending,
    host_left,
    packing,
    placed,
)

CASES = 8 * EXAMPLES


def test_instances_fit_and_take_the_same(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for number in range(CASES):
        one = case(Random(SEED * 10_000_000 + number))
        with ascending(), packing(one.packs):
            _compare(one, agreed, met)
    # So that the cases mean something.
    assert agreed["fit"] > CASES / 6 and agreed["do not fit"] > CASES / 6
    assert agreed["fit, with devices"] > CASES / 20
    assert met.total() < CASES / 10
    tell(record_property, agreed, met)


def _compare(one: Case, agreed: Counter[str], met: Counter[str]) -> None:
    ours = fit(one.host, one.wanted, one.providers, packs=one.packs)
    theirs = Sides(one.host, one.wanted, one.providers)
    fits = theirs.fits()
    if fits != isinstance(ours, Fit) or theirs.placed() != placed(ours):
        cause = known.cause(one, ours)
        assert cause is not None, (one, ours, theirs.placed())
        met[cause] += 1
        return
    if isinstance(ours, FitLack):
        agreed["do not fit"] += 1
        return
    agreed["fit"] += 1
    agreed["fit, with devices"] += bool(ours.devices)
    _compare_what_is_left(one, ours, theirs, met)


def _compare_what_is_left(one: Case, ours: Fit, theirs: Any, met: Counter[str]) -> None:
    left = take(one.host, ours)
    theirs.consume_devices()
    assert [as_pool(pool) for pool in left.pools or ()] == theirs.pools()
    if not ours.cells:
        return
    if known.has_no_pages(one.host, ours):
        with pytest.raises(IndexError):
            theirs.consume_cells()
        met[known.NO_PAGES] += 1
        return
    theirs.consume_cells()
    assert host_left(left) == theirs.left()
