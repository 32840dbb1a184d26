"""What a guide measures on the published traces, where they are."""

from __future__ import annotations

import pytest

from tests.guides.measured import suite

pytestmark = pytest.mark.slow


def test_forecasts_hold_as_often_as_they_say() -> None:
    judged = [one for one in suite("plan-capacity", "forecast") if one.goal]
    assert [one.work.partition(":")[0] for one in judged] == [
        f"{trace}, {asked}"
        for trace in ("azure-vm-v1 test", "alibaba-dlrm-2025", "alibaba-gpu-2023-openb")
        for asked in ("classes", "flavors")
    ]
    assert [one for one in judged if one.verdict != "met"] == []
