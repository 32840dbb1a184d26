"""Sharing providers and the trees that may use them, against sets of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.placement.candidates.survey import Survey, survey
from gantt.state.column import Bools
from gantt.state.state import State
from tests.placement.candidates.worlds import SHARES, Node, ask, group, node, world
from tests.work.counting import calls

# Enough that labels of one provider lie in several words of the matrix.
AGGREGATES = [f"a{number}" for number in range(70)]
some = st.lists(st.sampled_from(AGGREGATES[:3] + AGGREGATES[-3:]), max_size=3)
drawn = st.lists(st.tuples(st.integers(0, 9), some, st.booleans()), max_size=8)


def forest(parts: list[tuple[int, list[str], bool]]) -> tuple[State, list[Node]]:
    """Providers, some below an earlier one, some that share, in a world where all of
    the aggregates are known."""
    nodes = [node("all", aggregates=" ".join(AGGREGATES))]
    for number, (above, aggregates, shares) in enumerate(parts):
        parent = f"n{above}" if above < number else None
        labels, traits = " ".join(sorted(set(aggregates))), SHARES if shares else ""
        nodes.append(node(f"n{number}", parent, traits=traits, aggregates=labels))
    return world(nodes), nodes


def expected(state: State, nodes: list[Node]) -> set[tuple[int, int]]:
    """(sharing provider, root): rows of all that belong together."""
    row_of, root = state.providers.row_of, state.providers.root
    found = set()
    for giver in nodes:
        for member in nodes:
            if SHARES in giver.traits and {*giver.aggregates} & {*member.aggregates}:
                one, other = row_of(giver.uuid), row_of(member.uuid)
                assert one is not None
                assert other is not None
                found.add((one, int(root[other])))
    return found


def mask(state: State, rows: set[int]) -> Bools:
    found = np.zeros(state.providers.height, np.bool_)
    found[list(rows)] = True
    return found


@given(drawn, st.sets(st.integers(0, 8)))
def test_which_trees_may_use_what(
    parts: list[tuple[int, list[str], bool]], drawn_rows: set[int]
) -> None:
    state, nodes = forest(parts)
    pairs, sharing = expected(state, nodes), SharingProviders(state)
    every = set(range(state.providers.height))
    for rows in ({one for one in drawn_rows if one in every}, every, set[int]()):
        reached = {root for giver, root in pairs if giver in rows}
        assert set(np.flatnonzero(sharing.reach(mask(state, rows)))) == reached
        used = {giver for giver, root in pairs if root in rows}
        assert set(np.flatnonzero(sharing.reaching(mask(state, rows)))) == used
    costs = np.arange(state.providers.height, dtype=np.float32) * 3 % 7
    least = [
        min((costs[giver] for giver, at in pairs if at == root), default=np.inf)
        for root in range(state.providers.height)
    ]
    assert sharing.least(costs).tolist() == least
    for root in every:
        if state.providers.root[root] == root:
            mine = {giver for giver, at in pairs if at == root}
            assert sharing.around(root) == mine


@pytest.mark.parametrize("pools", [2, 60])
def test_more_pools_are_no_more_passes(pools: int) -> None:
    """Each with two hosts; their labels are in one word of the matrix."""
    nodes = []
    for number in range(pools):
        label = f"a{number}"
        nodes.append(node(f"p{label}", traits=SHARES, aggregates=label, DISK_GB=100))
        nodes += [node(f"h{label}-{n}", aggregates=label, VCPU=4) for n in "12"]
    state = world(nodes)
    request = ask(group(VCPU=1, DISK_GB=10))
    found = survey(state, request, Budget())
    assert isinstance(found, Survey)
    assert found.viable.sum() == 2 * pools
    one = world(nodes[:3])
    assert calls(survey, state, request, Budget()) == calls(
        survey, one, request, Budget()
    )


def test_a_pool_of_its_own_has_no_other_to_use() -> None:
    """So that it needs no walk, and has room for all or is no root to look at."""
    own = node("p", traits=SHARES, aggregates="a", DISK_GB=100, VCPU=4)
    other = node("q", traits=SHARES, aggregates="a", DISK_GB=100)
    request = ask(group(VCPU=1, DISK_GB=10))
    for nodes, is_alone in (([own], True), ([own, other], False)):
        found = survey(world(nodes), request, Budget())
        assert isinstance(found, Survey)
        assert found.alone.tolist() == [is_alone, *[False] * (len(nodes) - 1)]
