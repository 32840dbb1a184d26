"""Ten thousand hosts in a browser while two hundred changes arrive in a second.

How many frames there are in a second says as much about the machine as about the page:
it is printed (``-s``). What is asserted is the work: questions, and whole drawings, and
what is held. GANTT_SOAK_S: how many seconds the soak lasts, through all pages.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import gantt
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import MANY

pytestmark = pytest.mark.server("chromium")

SHOWN = "return document.querySelector('.tile b')?.textContent"
PER_SECOND = 200
WRITERS = 8
# Seconds; the heap is looked at before and after.
LONG = 10
SOAK_S = float(os.environ.get("GANTT_SOAK_S", "5"))
ROUND_S = 30.0
MOST_HEAP_MB = 150
MOST_GROWTH_MB = 20
PAGES = "return [...document.querySelectorAll('nav a')].map((one) => one.hash)"
FRAMES = """
let frames = 0;
const begin = performance.now();
await new Promise((resolve) => {
  const next = (now) => {
    frames += 1;
    if (now < begin + 3000) requestAnimationFrame(next); else resolve();
  };
  requestAnimationFrame(next);
});
return frames / ((performance.now() - begin) / 1000);
"""
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


@contextmanager
def changing(live: Live) -> Iterator[None]:
    """Consumers come and change, each by a commit of its own, at a steady rate."""
    is_over = threading.Event()
    with closing(gantt.connect(live.database)) as books:
        providers = [one.uuid for one in books.list_providers()]
        began = time.monotonic()

        def write(writer: int) -> None:
            for turn in range(writer, 10**9, WRITERS):
                due = began + turn / PER_SECOND - time.monotonic()
                if is_over.wait(max(0.0, due)):
                    return
                provider = providers[turn * 7919 % len(providers)]
                vcpus = 1 + turn % 3
                books.set_allocations([fleets.use(provider, turn % 500, vcpus, 9)])

        threads = [threading.Thread(target=write, args=(n,)) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join(30)


def test_the_map_keeps_up(chromium: Chromium, many: Live) -> None:
    with chromium.window(many.url) as window, changing(many):
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        window.wait("return document.querySelector('.live').dataset.state === 'live'")
        found = window.await_(COUNT % LONG)
        print(found)
        assert found["events"] > PER_SECOND / 10
        assert found["asked"] <= 4.5, "however much happens"
        assert found["whole"] == 0
        assert found["frames"] > 0
        assert 0 < found["cells"] < found["frames"] * LONG * MANY / 5
        assert found["heap"] < MOST_HEAP_MB
        assert window.faults() == []
        assert window.elsewhere() == []


def held_mb(window: Window) -> float:
    """Of the page's own memory, once garbage is collected."""
    window.driver.execute_cdp_cmd("HeapProfiler.enable", {})
    window.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    used = window.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return float(used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6


def renderers_mb() -> dict[int, float]:
    """What chromium's processes for pages have in memory for themselves, by process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                lines = (folder / "smaps_rollup").read_text().splitlines()
                own = [one.split() for one in lines if one.startswith("Private_")]
                found[int(folder.name)] = sum(int(one[1]) for one in own) / 1000
    return found


def test_a_long_look_holds_no_more(chromium: Chromium, many: Live) -> None:
    """Round after round: the map while hosts change, then every other page."""
    with chromium.window(many.url) as window, changing(many):
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        began = time.monotonic()
        rounds = [(0.0, 0.0, held_mb(window))]
        while True:
            due = min(ROUND_S * len(rounds), SOAK_S)
            frames = window.await_(FRAMES)
            for page in window.run(PAGES)[1:]:
                window.run("location.hash = arguments[0]", page)
                window.wait("return location.hash === arguments[0]", page)
                window.await_("await new Promise((go) => setTimeout(go, 500))")
            window.run("location.hash = '#/fleet'")
            assert window.wait(SHOWN) == f"{MANY:,}"
            window.asked()  # what the driver has logged is not the page's
            pause = due - (time.monotonic() - began)
            if pause > 0:
                window.await_(
                    f"await new Promise((go) => setTimeout(go, {pause} * 1e3))"
                )
            passed = time.monotonic() - began
            rounds.append((passed, frames, held_mb(window)))
            print("after {:.0f} s: {:.0f} frames/s, {:.1f} MB held".format(*rounds[-1]))
            if passed >= SOAK_S:
                break
        print("processes of pages, MB of their own:", renderers_mb())
        assert rounds[-1][2] < MOST_HEAP_MB
        assert rounds[-1][2] < rounds[1][2] + MOST_GROWTH_MB, rounds
        assert window.faults() == []
        assert window.elsewhere() == []


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
        assert window.faults() == []
