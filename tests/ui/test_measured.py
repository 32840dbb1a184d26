"""What ``tests.ui.measured`` says of figures; no browser is asked."""

from __future__ import annotations

from tests.ui.load import Round
from tests.ui.measured import of_rounds, of_views

SLOW = Round(at_s=30, frames=20, events=150, held_mb=4, page_mb=45)
LARGE = Round(at_s=3600, frames=60, events=200, held_mb=6, page_mb=151)


def test_the_median_of_views_is_what_the_goal_is_for() -> None:
    good = of_views([0.4, 0.5, 3.0])
    assert (good.gantt, good.is_met) == (
        "0.50 s, the median of 3 (0.40 to 3.00)",
        True,
    )
    assert of_views([0.4, 1.1, 1.2]).is_met is False


def test_a_soak_is_judged_by_its_frames_and_by_its_end() -> None:
    frames, changes, page, scripts = of_rounds([SLOW, LARGE, LARGE])
    assert frames.gantt == "60, the median of 3 looks (the worst of them 20)"
    assert (frames.is_met, page.is_met) == (True, False)
    assert page.work == "what the page's process holds after 60 minutes"
    assert page.gantt == "151 MB (45 at first, 151 at most)"
    assert (changes.is_met, scripts.is_met) == (None, None)
    frames, _, page, _ = of_rounds([SLOW])
    assert (frames.is_met, page.is_met) == (False, True)
