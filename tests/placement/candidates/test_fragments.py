"""Texts are made once for each change, and woven as a plain loop would."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.commands import CreateProvider, DeleteProvider, SetTraits
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import flat_search
from gantt.placement.candidates.fragments import Fragments, Pattern, Template, weave
from gantt.placement.candidates.search_answer import Rows
from gantt.state.state import State
from tests.placement.candidates.worlds import ask, do, group, node, world
from tests.work.counting import calls

AVX = "HW_CPU_X86_AVX"


class Maker:
    """Writes the uuid of a row and how many traits it has; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, state: State, rows: list[int]) -> list[bytes]:
        self.asked.append(rows)
        bears = state.provider_traits.labels_of
        return [f"{state.providers.uuids[r]}:{len(bears(r))}".encode() for r in rows]


def rows(*numbers: int) -> Rows:
    return np.array(numbers, np.intp)


def fleet(count: int) -> State:
    return world([node(f"n{number}", VCPU=4) for number in range(count)])


def test_equal_questions_make_nothing_again_and_one_change_makes_one() -> None:
    state, make = fleet(5), Maker()
    kept = Fragments(make, most=100)
    for _ in range(2):
        assert kept.of(state, rows(4, 1, 3)).tolist() == [b"n4:0", b"n1:0", b"n3:0"]
    assert make.asked == [[1, 3, 4]]
    do(state, SetTraits("n3", (AVX,)))
    assert kept.of(state, rows(4, 1, 3)).tolist() == [b"n4:0", b"n1:0", b"n3:1"]
    assert kept.of(state, rows(0, 1)).tolist() == [b"n0:0", b"n1:0"]
    assert make.asked == [[1, 3, 4], [3], [0]]


def test_rows_may_come_in_any_shape_and_more_than_once() -> None:
    state, make = fleet(3), Maker()
    kept = Fragments(make, most=100)
    combinations = np.array([[2, 0], [2, 2]], np.intp)
    assert kept.of(state, combinations).tolist() == [
        [b"n2:0", b"n0:0"],
        [b"n2:0", b"n2:0"],
    ]
    assert make.asked == [[0, 2]]
    assert kept.of(state, combinations[:0]).shape == (0, 2)


def test_what_is_answered_is_the_callers_own() -> None:
    state = fleet(1)
    kept = Fragments(Maker(), most=100)
    kept.of(state, rows(0))[0] = b"scribble"
    assert kept.of(state, rows(0)).tolist() == [b"n0:0"]


def test_a_row_that_is_used_again_speaks_of_its_new_provider() -> None:
    state = fleet(2)
    do(state, CreateProvider("old", "old"))
    row = state.providers.row_of("old")
    assert row is not None
    kept = Fragments(Maker(), most=100)
    assert kept.of(state, rows(row)).tolist() == [b"old:0"]
    do(state, DeleteProvider("old"))
    do(state, CreateProvider("new", "new"))
    assert state.providers.row_of("new") == row
    assert kept.of(state, rows(row)).tolist() == [b"new:0"]


def test_another_state_begins_anew_and_the_old_one_is_let_go() -> None:
    old, new = fleet(2), world([node("x", VCPU=1)])
    kept = Fragments(Maker(), most=100)
    assert kept.of(old, rows(0, 1)).tolist() == [b"n0:0", b"n1:0"]
    gone = weakref.ref(old)
    del old
    gc.collect()
    assert gone() is None
    assert kept.of(new, rows(0)).tolist() == [b"x:0"]


def test_beyond_the_limit_all_are_dropped() -> None:
    state, make = fleet(6), Maker()
    kept = Fragments(make, most=3)
    kept.of(state, rows(0, 1, 2))
    do(state, SetTraits("n0", (AVX,)))
    # What is made again counts once.
    kept.of(state, rows(0, 1, 2, 3))
    kept.of(state, rows(0))
    assert make.asked == [[0, 1, 2], [0, 3], [0]]


def spelled(pattern: Pattern) -> Template:
    """``pattern`` itself, and each provider once."""
    holes = tuple(dict.fromkeys(pattern))
    text = "".join(map(str, pattern)).encode()
    return Template((text + b"<", *[b"|"] * (len(holes) - 1), b">"), holes)


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.lists(st.tuples(*[st.integers(0, 3)] * size), max_size=12)
    )
)
def test_weaving_is_writing_one_after_another(
    combinations: list[tuple[int, ...]],
) -> None:
    expected = ""
    for combination in combinations:
        pattern = "".join(str(combination.index(row)) for row in combination)
        expected += f"{pattern}<{'|'.join(map(str, dict.fromkeys(combination)))}>"
    table = np.array(combinations, np.intp).reshape(
        len(combinations), len(combinations[0]) if combinations else 0
    )
    texts = np.array([str(n).encode() for n in range(4)], np.object_)[table]
    asked: list[Pattern] = []

    def template(pattern: Pattern) -> Template:
        asked.append(pattern)
        return spelled(pattern)

    woven = weave(table, texts, template)
    assert b"".join(woven.ravel().tolist()).decode() == expected
    assert len(asked) == len(set(asked))


def looked_up(state: State, count: int) -> Callable[[], object]:
    kept = Fragments(Maker(), most=1000)
    kept.of(state, np.arange(count))
    return lambda: kept.of(state, np.arange(count))


def woven(state: State, count: int) -> Callable[[], object]:
    combinations = np.repeat(np.arange(count), 2).reshape(count, 2)
    texts = np.full(combinations.shape, b"x", np.object_)
    return lambda: weave(combinations, texts, spelled)


def found(state: State, count: int) -> Callable[[], object]:
    request: CandidateRequest = ask(group(VCPU=1), group("1", VCPU=1))
    return lambda: flat_search.first(state, request, count, small=0)


@pytest.mark.parametrize("prepare", [looked_up, woven, found])
def test_ten_times_as_many_take_as_many_calls(
    prepare: Callable[[State, int], Callable[[], object]],
) -> None:
    state = fleet(200)
    few, many = (calls(prepare(state, count)) for count in (20, 200))
    assert many <= few + 2, (few, many)
