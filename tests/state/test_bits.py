"""The matrix of labels against sets of pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gantt.state.bits import BitMatrix

rows = st.integers(0, 40)
labels = st.integers(0, 5) | st.sampled_from((63, 64, 65, 127, 128, 300))
pairs = st.lists(st.tuples(rows, labels, st.booleans()), max_size=60)
HEIGHT = 60


def filled(
    steps: list[tuple[int, int, bool]],
) -> tuple[BitMatrix, set[tuple[int, int]]]:
    matrix, model = BitMatrix(), set[tuple[int, int]]()
    for row, label, is_set in steps:
        matrix.set(row, label, is_set)
        (model.add if is_set else model.discard)((row, label))
    return matrix, model


@given(pairs)
def test_labels_of_each_row(steps: list[tuple[int, int, bool]]) -> None:
    matrix, model = filled(steps)
    for row in range(HEIGHT):
        mine = sorted(label for bearer, label in model if bearer == row)
        assert matrix.labels_of(row) == mine
    for label in (*range(6), 63, 64, 65, 127, 128, 300, 9999):
        assert matrix.is_used(label) == any(one == label for _, one in model)
        for row in range(HEIGHT):
            assert matrix.has_any(row, (label,)) == ((row, label) in model)


@given(pairs, st.lists(labels | st.just(9999), max_size=4))
def test_questions_about_all_rows_at_once(
    steps: list[tuple[int, int, bool]], asked: list[int]
) -> None:
    matrix, model = filled(steps)
    for height in (1, 16, HEIGHT, 300):
        any_of = matrix.any_of(asked, height).tolist()
        all_of = matrix.all_of(asked, height).tolist()
        borne = [{label for one, label in model if one == row} for row in range(height)]
        assert any_of == [bool(mine & set(asked)) for mine in borne]
        assert any_of == [matrix.has_any(row, asked) for row in range(height)]
        assert all_of == [mine >= set(asked) for mine in borne]


@given(pairs, st.sets(rows, max_size=4))
def test_bearers_of_the_labels_of_some_rows(
    steps: list[tuple[int, int, bool]], some: set[int]
) -> None:
    matrix, model = filled(steps)
    asked = np.array(sorted(some), np.int64)
    wanted = {label for row, label in model if row in some}
    for height in (1, 16, HEIGHT):
        bearers, found = matrix.bearers_like(asked, height)
        got = list(zip(bearers.tolist(), found.tolist(), strict=True))
        assert len(got) == len(set(got))
        assert set(got) == {
            (row, label) for row, label in model if label in wanted and row < height
        }
        any_like = set(np.flatnonzero(matrix.any_like(asked, height)).tolist())
        assert any_like == {row for row, _ in got}
    mine = matrix.pairs(asked)
    told = list(zip(*(one.tolist() for one in mine), strict=True))
    assert sorted(told) == sorted(one for one in model if one[0] in some)
