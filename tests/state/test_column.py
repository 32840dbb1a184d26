"""Columns and chains against a list and a dict of lists."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gantt.state.column import (
    NO_TIME,
    Chain,
    Columns,
    Int64s,
    time_in,
    time_out,
)


class Amounts(Columns):
    specs: ClassVar = {"amount": (np.int64, -5)}
    amount: Int64s


@given(st.lists(st.integers(0, 60)))
def test_columns_are_a_list_with_holes(steps: list[int]) -> None:
    """0..29: give back that live row, if there is one; else take another."""
    table = Amounts()
    model: dict[int, int] = {}
    for number, step in enumerate(steps):
        if step < 30 and model:
            row = sorted(model)[step % len(model)]
            del model[row]
            table.give_back(row)
            assert table.amount[row] == -5
        else:
            row = table.take()
            assert row not in model
            model[row] = number
            table.amount[row] = number
        assert table.count == len(model)
        assert table.live_rows().tolist() == sorted(model)
        assert {row: int(table.amount[row]) for row in model} == model


@given(st.integers(0, 40), st.integers(0, 100), st.integers(0, 40))
def test_a_block_comes_after_all_others(first: int, size: int, then: int) -> None:
    table = Amounts()
    for _ in range(first):
        table.take()
    if first:
        table.give_back(0)
    block = table.take_block(size)
    assert (block.start, block.stop) == (first, first + size)
    table.amount[block] = 7
    taken = [table.take() for _ in range(then)]
    assert len(set(taken)) == then
    assert not set(taken) & set(range(block.start, block.stop))
    assert (table.amount[block] == 7).all()
    assert table.count == max(0, first - 1) + size + then


def test_growing_keeps_what_there_is_and_fills_the_rest() -> None:
    table = Amounts()
    table.amount[table.take()] = 3
    table.reserve(1000)
    table.reserve(10)
    assert len(table.amount) == 1000
    assert table.amount[0] == 3
    assert (table.amount[1:] == -5).all()
    assert not table.is_live[1:].any()


def test_no_time_is_kept_as_such() -> None:
    assert (time_in(None), time_out(NO_TIME)) == (NO_TIME, None)
    assert time_out(np.int64(time_in(5))) == 5


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99))))
def test_a_chain_is_a_set_of_rows_per_owner(steps: list[tuple[int, int]]) -> None:
    """A row that is named again leaves its owner."""
    chain = Chain()
    owner_of: dict[int, int] = {}
    for owner, row in steps:
        if row in owner_of:
            chain.remove(owner_of.pop(row), row)
        else:
            chain.add(owner, row)
            owner_of[row] = owner
    for owner in range(7):
        rows = list(chain.rows_of(owner))
        assert len(rows) == len(set(rows))
        assert set(rows) == {row for row, one in owner_of.items() if one == owner}
        assert chain.is_empty(owner) == (not rows)


@given(
    st.lists(st.integers(0, 40)),
    st.lists(st.tuples(st.integers(41, 45), st.just(0)), max_size=3),
)
def test_a_block_links_as_one_by_one_does(
    owners: list[int], before: list[tuple[int, int]]
) -> None:
    chain = Chain()
    start = len(before)
    for row, (owner, _) in enumerate(before):
        chain.add(owner, row)
    chain.add_block(np.array(owners, np.int32), slice(start, start + len(owners)))
    for owner in range(41):
        expected = {start + n for n, one in enumerate(owners) if one == owner}
        assert set(chain.rows_of(owner)) == expected
        assert chain.is_empty(owner) == (not expected)
    for number, owner in enumerate(owners):
        chain.remove(owner, start + number)
    assert all(chain.is_empty(owner) for owner in range(41))
    for row, (owner, _) in enumerate(before):
        assert row in set(chain.rows_of(owner))
