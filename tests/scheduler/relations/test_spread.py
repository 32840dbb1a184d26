"""Spread over domains against a checker that tries everything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantt.model.relations import Relation
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.domain_rules import least, still_open
from gantt.scheduler.relations.spread import Key, ceiling, search, soft_scores
from tests.examples import examples


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def mask(values: list[bool]) -> np.ndarray:
    return np.array(values, np.bool_)


def ways(room: list[int], count: int) -> Iterator[tuple[int, ...]]:
    """Every way to put ``count`` into places that have so much room."""
    for way in itertools.product(*(range(one + 1) for one in room)):
        if sum(way) == count:
            yield way


def is_kept(
    relation: Relation, before: list[int], added: tuple[int, ...], eligible: list[bool]
) -> bool:
    """In Kubernetes' words, of all together."""
    after = [one + more for one, more in zip(before, added, strict=True)]
    counted = [n for n, is_one in zip(after, eligible, strict=True) if is_one]
    lowest = min(counted, default=0)
    if relation.kind == "distinct" or len(counted) < relation.min_domains:
        lowest = 0
    return all(
        not more or n - lowest <= relation.most
        for n, more in zip(after, added, strict=True)
    )


@st.composite
def spreads(draw: st.DrawFn) -> Relation:
    kind: Literal["spread", "distinct"] = draw(st.sampled_from(("spread", "distinct")))
    most, domains = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    return Relation(kind, "rack", most, domains if kind == "spread" else 1)


@st.composite
def racks(draw: st.DrawFn) -> tuple[list[int], list[int], list[bool]]:
    size = draw(st.integers(1, 4))
    some = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    before, room = draw(some), draw(some)
    eligible = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    # What is not eligible takes none: no host there passes.
    room = [one if is_one else 0 for one, is_one in zip(room, eligible, strict=True)]
    return before, room, eligible


@given(spreads(), racks())
@settings(max_examples=examples(80), deadline=None)
def test_the_ceiling_is_the_most_that_can_be_placed(
    relation: Relation, racks: tuple[list[int], list[int], list[bool]]
) -> None:
    before, room, eligible = racks
    most = int(ceiling(relation, array(before), array(room), mask(eligible)).sum())
    placeable = [
        count
        for count in range(sum(room) + 1)
        if any(is_kept(relation, before, w, eligible) for w in ways(room, count))
    ]
    assert most == max(placeable)


@given(spreads(), racks(), st.randoms())
@settings(max_examples=examples(80), deadline=None)
def test_one_after_the_other_never_ends_before_the_most_are_placed(
    relation: Relation,
    racks: tuple[list[int], list[int], list[bool]],
    dice: object,
) -> None:
    before, room, eligible = racks
    counts, left = array(before), array(room)
    most = int(ceiling(relation, counts, left, mask(eligible)).sum())
    placed = 0
    while True:
        is_open = still_open(relation, counts, mask(eligible)) & (left > 0)
        places = np.flatnonzero(is_open).tolist()
        if not places:
            break
        at = dice.choice(places)  # type: ignore[attr-defined]
        counts[at] += 1
        left[at] -= 1
        placed += 1
        assert is_kept(relation, before, tuple(counts - array(before)), eligible)
    assert placed == most


@st.composite
def crossings(draw: st.DrawFn) -> tuple[list[Key], list[int]]:
    """Two keys, nested or crossing, in up to five cells."""
    cells = draw(st.integers(1, 5))
    room = draw(st.lists(st.integers(0, 2), min_size=cells, max_size=cells))
    keys = []
    for _ in range(2):
        domains = draw(st.integers(1, 3))
        of_cell = [draw(st.integers(0, domains - 1)) for _ in range(cells)]
        before = [draw(st.integers(0, 2)) for _ in range(domains)]
        relation = draw(spreads())
        every = mask([True] * domains)
        keys.append(Key(relation, array(before), every, array(of_cell)))
    return keys, room


def is_kept_by_all(keys: list[Key], way: tuple[int, ...]) -> bool:
    for key in keys:
        size = len(key.counts)
        added = np.bincount(key.of_cell, way, size).astype(int).tolist()
        eligible = key.eligible.tolist()
        if not is_kept(key.relation, key.counts.tolist(), tuple(added), eligible):
            return False
    return True


@given(crossings(), st.integers(0, 6))
@settings(max_examples=examples(150), deadline=None)
def test_several_keys_are_kept_where_any_way_exists_and_only_there(
    crossing: tuple[list[Key], list[int]], count: int
) -> None:
    keys, room = crossing
    is_possible = any(is_kept_by_all(keys, way) for way in ways(room, count))
    found = search(keys, array(room), count, Budget())
    assert (found is not None) == is_possible
    if found is not None:
        way = tuple(found.tolist())
        assert sum(way) == count
        assert all(one <= most for one, most in zip(way, room, strict=True))
        assert is_kept_by_all(keys, way)


def test_a_search_of_several_keys_ends_at_its_bound() -> None:
    eligible = mask([True] * 3)
    racks = Key(Relation("spread", "rack"), array([0, 0, 3]), eligible, array([0, 1]))
    power = Key(Relation("spread", "power"), array([0, 0, 3]), eligible, array([1, 0]))
    with pytest.raises(Spent):
        search([racks, power], array([50, 50]), 60, Budget(10))


def test_many_instances_over_many_racks_need_few_steps() -> None:
    cells = 80
    racks = Key(
        Relation("spread", "rack"),
        array([0] * 40),
        mask([True] * 40),
        np.arange(cells) // 2,
    )
    power = Key(
        Relation("spread", "power"),
        array([0, 0]),
        mask([True] * 2),
        np.arange(cells) % 2,
    )
    budget = Budget(1000)
    found = search([racks, power], array([20] * cells), 500, budget)
    assert found is not None
    assert budget.steps == 500
    assert np.bincount(racks.of_cell, found).max() == 13
    assert np.bincount(power.of_cell, found).tolist() == [250, 250]


# -- Kubernetes' published examples (its page on topology spread constraints) ----------


@pytest.mark.parametrize(
    ("what", "relation", "before", "eligible", "may"),
    [
        (
            "one constraint, maxSkew 1: only zone B",
            Relation("spread", "zone", 1),
            [2, 1],
            [True, True],
            [False, True],
        ),
        (
            "maxSkew 2: either zone",
            Relation("spread", "zone", 2),
            [2, 1],
            [True, True],
            [True, True],
        ),
        (
            "minDomains 5 and two domains: the least is 0, so no more than maxSkew",
            Relation("spread", "zone", 1, 5),
            [1, 0],
            [True, True],
            [False, True],
        ),
        (
            "minDomains is met: the least counts as it is",
            Relation("spread", "zone", 1, 2),
            [1, 1],
            [True, True],
            [True, True],
        ),
        (
            "three zones with 2, 2, 1 and maxSkew 1: only the third",
            Relation("spread", "zone", 1),
            [2, 2, 1],
            [True] * 3,
            [False, False, True],
        ),
        (
            "the third zone is excluded by node affinity: it is not compared",
            Relation("spread", "zone", 1),
            [2, 2, 0],
            [True, True, False],
            [True, True, True],
        ),
    ],
)
def test_a_domain_is_open_as_kubernetes_documents(
    what: str,
    relation: Relation,
    before: list[int],
    eligible: list[bool],
    may: list[bool],
) -> None:
    found = still_open(relation, array(before), mask(eligible))
    assert found.tolist() == may, what


def test_two_constraints_that_conflict_leave_none_as_kubernetes_documents() -> None:
    """Zone A has nodes 1 and 2 with two and one pods, zone B node 3 with two: zone
    asks for B where node asks for node 2."""
    zone = still_open(Relation("spread", "zone"), array([3, 2]), mask([True] * 2))
    node = still_open(Relation("spread", "node"), array([2, 1, 2]), mask([True] * 3))
    nodes_of_zones = array([0, 0, 1])
    assert not (zone[nodes_of_zones] & node).any()


@pytest.mark.parametrize(
    ("counts", "domains", "skew", "scores"),
    [
        ([0, 1, 2], 3, 1, [0.0, math.log(5), 2 * math.log(5)]),
        ([3, 0], 2, 5, [3 * math.log(4) + 4, 4.0]),
    ],
)
def test_a_soft_spread_scores_as_kubernetes(
    counts: list[int], domains: int, skew: int, scores: list[float]
) -> None:
    relation = Relation("spread", "zone", skew, is_hard=False)
    assert soft_scores(relation, array(counts), domains).tolist() == pytest.approx(
        scores
    )


def test_the_least_counts_only_what_is_eligible() -> None:
    relation = Relation("spread", "zone")
    assert least(relation, array([4, 0, 2]), mask([True, False, True])) == 2
    assert least(relation, array([4, 0]), mask([False, False])) == 0
