"""The amounts at which room changes: the largest that fits is always one of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gantt.placement.candidates.rooms import Rooms, largest

Room = tuple[int, int, int, int]
ROOMS = st.lists(
    st.tuples(
        st.integers(0, 40), st.integers(1, 40), st.integers(1, 4), st.integers(1, 4)
    ),
    min_size=1,
    max_size=4,
)


def made(them: list[Room]) -> Rooms:
    return Rooms(*(np.array(column, np.int64) for column in zip(*them, strict=True)))


def times(them: list[Room], amount: int) -> int:
    """How often the amount can be had."""
    return sum(
        free // amount
        for free, most, least, step in them
        if least <= amount <= most and amount % step == 0
    )


@given(ROOMS, st.integers(1, 5), st.integers(2, 50))
def test_the_largest_that_fits_is_found(
    them: list[Room], count: int, asked: int
) -> None:
    room = made(them)
    start = room.ceiling(count, asked - 1)
    fitting = [n for n in range(1, asked) if times(them, n) >= count]
    assert start >= max(fitting, default=0)
    found: list[int] = []
    answer = largest(
        lambda top: room.below(top, start, count) if top > 0 else None,
        start,
        0,
        lambda amount: times(them, amount) >= count,
        found.append,
    )
    assert answer == max(fitting, default=0) == max(found, default=0)


@given(ROOMS, st.integers(1, 12), st.integers(2, 50))
def test_what_else_is_given_beside_is_counted(
    them: list[Room], other: int, asked: int
) -> None:
    """One provider gives the amount next to another one."""
    room = made(them)

    def fits(amount: int) -> bool:
        return any(times([(max(0, one[0] - other), *one[1:])], amount) for one in them)

    fitting = [n for n in range(1, asked) if fits(n)]
    answer = largest(
        lambda top: room.below(top, asked - 1, 1, (0, other)) if top > 0 else None,
        asked - 1,
        0,
        fits,
        lambda _: None,
    )
    assert answer == max(fitting, default=0)
