"""Long parts of a body have a short repr, and equal the original for schemas."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gantt.api.wire import bodies, schema_errors
from gantt.api.wire.problem import Problem
from gantt.api.wire.schema_errors import LONGEST, abridged

LEAVES = st.none() | st.booleans() | st.integers() | st.text()
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
LONG: list[Any] = [
    "n" * 100_000,
    ["n" * 100_000],
    {"k" * 100_000: "n" * 100_000},
    [list(range(9_000))] * 20,
    {str(number): {"deep": "x" * 5_000} for number in range(100)},
    [*range(9_000), "n" * 5_000, ["n" * 5_000], {"k" * 5_000: 1}],
    {**{str(number): number for number in range(9_000)}, "k" * 5_000: ["n" * 5_000]},
]


@settings(deadline=None)
@given(DATA)
def test_short_data_is_not_abridged(data: Any) -> None:
    assert abridged(data) == data
    if len(repr(data)) < LONGEST / 2:
        assert repr(abridged(data)) == repr(data)


@pytest.mark.parametrize("data", LONG, ids=range(len(LONG)))
def test_long_data_is_equal_and_has_a_short_repr(data: Any) -> None:
    short = abridged(data)
    assert short == data
    assert json.dumps(short) == json.dumps(data)
    assert len(repr(short)) < 2 * LONGEST


def test_items_of_wide_lists_are_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Long by its number of items."""
    measured = 0
    measure = schema_errors._abridged

    def counted(data: Any) -> tuple[Any, int]:
        nonlocal measured
        measured += 1
        return measure(data)

    monkeypatch.setattr(schema_errors, "_abridged", counted)
    names = {str(number): number for number in range(2 * LONGEST)}
    assert abridged([list(names.values()), names]) == [list(names.values()), names]
    assert measured == 3


def test_long_names_are_cut_before_formatting() -> None:
    """Memory as a multiple of the body: its text, its value, and the abridged copy."""
    raw = json.dumps({"name": "n" * 8_000_000}).encode()
    schema_errors.judge_body(b'{"name": "n"}', bodies.CREATE_PROVIDER[39].schema_of, 39)
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as refusal:
            bodies.create_provider(raw, 39)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refusal.value.detail.startswith("JSON does not validate: 'nnn")
    assert "is too long" in refusal.value.detail
    assert peak < 3.5 * len(raw)


MIXED: list[Any] = [
    [],
    [1, 1.0],
    [1, True],
    [0, False, None, "", [], {}],
    ["a", "a"],
    [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
    [{"a": 1}, {"a": True}],
    [{"a": [1]}, {"a": [True]}],
    [[1, [2]], [1, [2.0]]],
    ["1", 1],
    [{"a": "b"}, "b", ["a", "b"]],
]


@pytest.mark.parametrize("items", MIXED, ids=repr)
def test_unique_items_agrees_with_jsonschema(items: list[Any]) -> None:
    schema = {"type": "array", "uniqueItems": True}
    theirs = Draft202012Validator(schema).is_valid(items)

    def schema_of(_version: int) -> dict[str, Any]:
        return schema

    ours = schema_errors._body_validator(schema_of, 0).is_valid(items)
    assert ours == theirs


def test_unique_items_takes_linear_time_for_mixed_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library's own way compares each with all before it: its comparison counts."""
    from jsonschema import _utils

    seen = 0
    equal = _utils.equal

    def counted(one: Any, two: Any) -> bool:
        nonlocal seen
        seen += 1
        return bool(equal(one, two))

    monkeypatch.setattr(_utils, "equal", counted)
    items = [{"a": 1}, *(f"{number:032x}" for number in range(2_000))]
    raw = json.dumps(items).encode()
    with pytest.raises(Problem):
        bodies.set_aggregates(raw, 1, "00000000-0000-0000-0000-000000000000")
    assert seen <= len(items)
