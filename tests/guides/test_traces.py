"""What a guide measures on the published traces, where they are."""

from __future__ import annotations

import pytest

from tests.guides.measured import suite

pytestmark = pytest.mark.slow


def test_forecasts_hold_as_often_as_they_say() -> None:
    judged = [one for one in suite("plan-capacity", "forecast") if one.goal]
    assert len(judged) == 3
    assert [one for one in judged if one.verdict != "met"] == []
