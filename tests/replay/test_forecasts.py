"""Forecasts hold on a published trace, in a short form: `python -m bench forecast` has
all windows of all traces."""

from __future__ import annotations

import pytest

from bench.forecast import DLRM, compared, dlrm
from tests.replay.conftest import TRACES


@pytest.mark.parametrize("flavors", [False, True])
def test_room_lasts_until_the_date_of_ninety_percent(flavors: bool) -> None:
    """The whole has 85 to 95 %; a few windows of it may have a little less or more."""
    found = compared(DLRM, dlrm(TRACES, DLRM.step_s), 25, flavors=flavors)
    assert len(found.starts) >= 150
    share, (low, high) = found.share(0), found.interval(0)
    assert 0.80 <= share <= 0.97
    assert low < share < high
    assert found.share(0) > found.share(1) > found.share(2)
