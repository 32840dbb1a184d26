"""Times round-trip through DATETIME columns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.store.time_columns import MicrosMemo, to_datetime, to_micros, to_text

MOMENTS = st.integers(0, 4_102_444_800_000_000)


@given(MOMENTS)
def test_round_trips(micros: int) -> None:
    assert to_micros(to_text(micros)) == micros
    assert to_micros(to_datetime(micros)) == micros


def test_the_text_is_what_sqlalchemy_stores() -> None:
    assert to_text(1_700_000_000_000_000) == "2023-11-14 22:13:20.000000"


@pytest.mark.parametrize("value", [None, "", "yesterday"])
def test_invalid_times_are_none(value: str | None) -> None:
    assert to_micros(value) is None
    assert MicrosMemo()[value] is None


def test_text_without_a_fraction_and_times_with_a_zone() -> None:
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert to_micros("2023-11-14 22:13:20") == to_micros(moment)


def test_null_stays_null() -> None:
    assert to_text(None) is None
    assert to_datetime(None) is None
