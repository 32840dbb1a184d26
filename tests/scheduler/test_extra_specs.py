"""Operators in extra specs, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.scheduler.request.extra_specs import matcher
from tests.scheduler.naive import is_match


@pytest.mark.parametrize(
    ("value", "requirement", "expected"),
    [
        # "=" is "at least".
        ("5", "= 4", True),
        ("4", "= 4", True),
        ("3", "= 4", False),
        ("5", "== 5.0", True),
        ("5", "== 4", False),
        ("5", "!= 4", True),
        ("5", ">= 6", False),
        ("5", "<= 5", True),
        ("x", "= 4", False),
        ("x", "!= 4", False),
        # Numbers are not texts.
        ("10", "s< 9", True),
        ("10", "<= 9", False),
        ("b", "s== b", True),
        ("b", "s!= b", False),
        ("b", "s> a", True),
        ("b", "s>= b", True),
        ("b", "s<= a", False),
        # Only the first operand counts.
        ("1", "s== 1 2", True),
        ("avx sse", "<in> sse", True),
        ("avx", "<in> sse", False),
        ("avx sse", "<all-in> sse avx", True),
        ("avx", "<all-in> sse avx", False),
        ("b", "<or> a <or> b", True),
        ("c", "<or> a <or> b", False),
        ("a b", "<or> a b", False),
        # Without an operand nothing matches.
        ("5", "=", False),
        ("", "s==", False),
        ("5", "<in>", False),
        ("5", "<all-in>", False),
        ("", "<or>", False),
        # Anything else is compared whole; there is no plain < or >.
        ("true", "true", True),
        ("true", "True", False),
        ("5", "> 4", False),
        ("> 4", "> 4", True),
        ("", "", True),
        ("", " ", False),
    ],
)
def test_operators(value: str, requirement: str, expected: bool) -> None:
    assert matcher("key", requirement)(value) is expected
    assert is_match(value, requirement) is expected


@pytest.mark.parametrize("requirement", ["= x", "== 1,5", "!= <or>", ">= ten", "<= ="])
def test_invalid_number_is_named(requirement: str) -> None:
    with pytest.raises(Invalid) as refused:
        matcher("capabilities:k", requirement)
    assert "capabilities:k" in refused.value.message
    assert repr(requirement) in refused.value.message


WORDS = st.sampled_from(["1", "2.0", "10", "a", "ab", "<or>", "-1"])
SIGNS = "= == != >= <= s== s!= s< s<= s> s>= <in> <all-in> <or> > other".split()


@given(WORDS, st.sampled_from(SIGNS), st.lists(WORDS, max_size=4))
def test_operators_agree_with_the_reference(
    value: str, sign: str, operands: list[str]
) -> None:
    requirement = " ".join([sign, *operands])
    try:
        matches = matcher("key", requirement)
    except Invalid:
        with pytest.raises(ValueError, match="float"):
            float(operands[0])
        return
    assert matches(value) == is_match(value, requirement)
