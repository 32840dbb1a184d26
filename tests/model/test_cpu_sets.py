"""Sets of CPUs as numbers and as texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.cpu_sets import cpus_of, mask_of, numbers_of, text_of


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), "none"),
        ((0,), "0"),
        ((0, 1), "0-1"),
        ((0, 2), "0,2"),
        ((3, 1, 2, 8, 63, 64), "1-3,8,63-64"),
    ],
)
def test_ranges_are_joined(numbers: tuple[int, ...], text: str) -> None:
    assert text_of(mask_of(numbers)) == text


@given(st.frozensets(st.integers(0, 200)))
def test_a_set_is_read_as_it_was_written(numbers: frozenset[int]) -> None:
    cpus = mask_of(numbers)
    assert list(numbers_of(cpus)) == sorted(numbers)
    assert cpus_of(text_of(cpus, empty="")) == cpus


def test_a_text_that_is_no_set() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        cpus_of("none")
