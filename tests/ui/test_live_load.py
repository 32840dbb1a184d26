"""Ten thousand hosts in a browser while two hundred changes arrive in a second.

How many frames there are in a second, and how long the first view takes, says as much
about the machine as about the page: it is printed (``-s``). What is asserted is the
work: questions, and whole drawings, and what is held. GANTT_SOAK_S: how many seconds
the soak lasts, through all pages.
"""

from __future__ import annotations

import os

import pytest

from tests.live import Live
from tests.ui.browser import Chromium
from tests.ui.conftest import MANY
from tests.ui.load import PER_SECOND, SHOWN, changing, first_views, look

pytestmark = pytest.mark.server("chromium")

VIEWS = 3
# Seconds; the heap is looked at before and after.
LONG = 10
SOAK_S = float(os.environ.get("GANTT_SOAK_S", "5"))
MOST_MB = 150
MOST_GROWTH_MB = 20
COUNT = """
const { live } = await import("./ui/live.js");
const first = live.received;
// Of a whole drawing the first rectangle is the page.
let whole = 0, cells = 0;
const fill = CanvasRenderingContext2D.prototype.fillRect;
CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
  if (width === this.canvas.clientWidth) whole += 1; else cells += 1;
  fill.call(this, x, y, width, height);
};
let frames = 0, last = performance.now();
const begin = last, until = begin + 1000 * %d;
await new Promise((resolve) => {
  const next = (now) => {
    frames += 1;
    last = now;
    if (now < until) requestAnimationFrame(next); else resolve();
  };
  requestAnimationFrame(next);
});
const asked = performance.getEntriesByType("resource").filter(
  (one) => one.name.includes("gantt/fleet?after=") && one.startTime > begin).length;
return {
  whole, cells,
  frames: frames / ((last - begin) / 1000),
  events: (live.received - first) / ((last - begin) / 1000),
  asked: asked / ((last - begin) / 1000),
  heap: performance.memory.usedJSHeapSize / 1e6,
};
"""


def test_the_map_keeps_up(chromium: Chromium, many: Live) -> None:
    with chromium.window(many.url) as window, changing(many):
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        window.wait("return document.querySelector('.live').dataset.state === 'live'")
        # The links above the map come later, and take of its height once.
        window.wait(
            "return document.querySelector('.wrongs')?.innerText.includes('The audit')"
        )
        found = window.await_(COUNT % LONG)
        print(found)
        assert found["events"] > PER_SECOND / 10
        assert found["asked"] <= 4.5, "however much happens"
        assert found["whole"] == 0
        assert found["frames"] > 0
        assert 0 < found["cells"] < found["frames"] * LONG * MANY / 5
        assert found["heap"] < MOST_MB
        assert window.faults() == []
        assert window.elsewhere() == []


def test_a_long_look_holds_no_more(chromium: Chromium, many: Live) -> None:
    """Round after round: the map while hosts change, then every other page."""
    rounds = look(chromium, many, SOAK_S)
    first, last = rounds[0], rounds[-1]
    assert last.page_mb < MOST_MB
    assert last.held_mb < first.held_mb + MOST_GROWTH_MB, rounds
    assert min(one.events for one in rounds) > PER_SECOND / 10


def test_the_first_view_is_one_answer(chromium: Chromium, many: Live) -> None:
    """The page, its files, and one question for the fleet: nothing waits for more."""
    with chromium.window(many.url) as window:
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        names = window.run(
            "return performance.getEntriesByType('resource').map((one) => one.name)"
        )
        asked = [one for one in names if "/gantt/ui/" not in one]
        assert asked[0] == f"{many.url}/gantt/fleet"
        assert [one for one in asked if one.endswith("/gantt/fleet")] == [asked[0]]
        sizes = window.run(
            """return performance.getEntriesByType("resource")
              .filter((one) => one.name.endsWith("/gantt/fleet"))
              .map((one) => [one.encodedBodySize, one.decodedBodySize])"""
        )
        ((sent, decoded),) = sizes
        assert sent < 200_000 < decoded < 2_000_000
        seen = [round(one, 2) for one in first_views(window, VIEWS)]
        print(f"first views: {seen} s, load {os.getloadavg()[0]:.1f}")
        assert window.faults() == []
