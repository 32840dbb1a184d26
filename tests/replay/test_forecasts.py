"""Forecasts hold on a published trace, in a short form: `python -m bench forecast` has
all windows of all traces."""

from __future__ import annotations

import numpy as np
import pytest

from bench import forecast
from bench.forecast import DEV, DLRM, compared, dlrm
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


@pytest.mark.parametrize("has_held", [False, True])
def test_what_is_judged_is_decided_by_blocks_whatever_came_out(has_held: bool) -> None:
    """Many windows at one time tell as little as one."""
    held = np.full((500, 3), has_held)
    once = forecast.Tested(DEV, np.arange(500) % 40 + 2 * DEV.horizon, held)
    assert not once.is_judged and once.interval(0) == (has_held, has_held)
    assert forecast.Tested(DEV, np.arange(500) % 100 + 2 * DEV.horizon, held).is_judged
