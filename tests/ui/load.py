"""What is measured of ten thousand hosts in a browser while changes arrive: tests bound
it, ``tests.ui.measured`` keeps it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import gantt
from gantt.errors import DoesNotFit
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import MANY

SHOWN = "return document.querySelector('.tile b')?.textContent"
# When the frame with all hosts is over, since the page was asked for.
SEEN = """
const look = () => {
  const isSeen = document.querySelector(".tile b")?.textContent === "%s";
  requestAnimationFrame(isSeen ? () => { window.seen = performance.now(); } : look);
};
look();
"""
PER_SECOND = 200
WRITERS = 8
ROUND_S = 30.0
PAGES = "return [...document.querySelectorAll('nav a')].map((one) => one.hash)"
FRAMES = """
const { live } = await import("./ui/live.js");
const received = live.received;
let frames = 0;
const begin = performance.now();
await new Promise((resolve) => {
  const next = (now) => {
    frames += 1;
    if (now < begin + 3000) requestAnimationFrame(next); else resolve();
  };
  requestAnimationFrame(next);
});
const passed = (performance.now() - begin) / 1000;
return [frames / passed, (live.received - received) / passed];
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
                with contextlib.suppress(DoesNotFit):  # the host is full
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


class Round(NamedTuple):
    """After ``at_s`` seconds: frames and changes in a second; MB that scripts hold, and
    that the process of the page has for itself."""

    at_s: float
    frames: float
    events: float
    held_mb: float
    page_mb: float


def first_views(window: Window, count: int) -> list[float]:
    """Seconds from the request of a page to the end of its frame with all hosts; the
    browser runs, and keeps no file."""
    script = {"source": SEEN % f"{MANY:,}"}
    window.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    window.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    found = []
    for _ in range(count):
        window.driver.refresh()
        found.append(float(window.wait("return window.seen")) / 1000)
    return found


def look(chromium: Chromium, live: Live, long_s: float) -> list[Round]:
    """Round after round for ``long_s`` seconds: the map while hosts change, then every
    other page. AssertionError where the page logs a fault."""
    rounds: list[Round] = []
    with chromium.window(live.url, keeps_answers=False) as window, changing(live):
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        began = time.monotonic()
        while not rounds or rounds[-1].at_s < long_s:
            due = began + min(ROUND_S * (len(rounds) + 1), long_s)
            frames, events = window.await_(FRAMES)
            _walk(window)
            pause = max(0.0, due - time.monotonic())
            window.await_(f"await new Promise((go) => setTimeout(go, {pause} * 1e3))")
            held, own = held_mb(window), page_mb(chromium.pid)
            rounds.append(Round(time.monotonic() - began, frames, events, held, own))
            print(rounds[-1], flush=True)
        assert window.faults() == []
    return rounds


def _walk(window: Window) -> None:
    """Through all other pages, and back to the map."""
    for page in window.run(PAGES)[1:]:
        window.run("location.hash = arguments[0]", page)
        window.wait("return location.hash === arguments[0]", page)
        window.await_("await new Promise((go) => setTimeout(go, 500))")
    window.run("location.hash = '#/fleet'")
    assert window.wait(SHOWN) == f"{MANY:,}"


def held_mb(window: Window) -> float:
    """Of the page's own memory, once garbage is collected."""
    window.driver.execute_cdp_cmd("HeapProfiler.enable", {})
    window.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    used = window.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return float(used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6


def page_mb(driver: int) -> float:
    """What the largest process for pages, below the process ``driver``, has in memory
    for itself."""
    parents, pages = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            pid = int(folder.name)
            stat = (folder / "stat").read_text()
            parents[pid] = int(stat.rpartition(")")[2].split()[1])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                pages.append(pid)
    return max(_own_mb(pid) for pid in pages if driver in _above(pid, parents))


def _above(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid := parents.get(pid, 0):
        yield pid


def _own_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    own = [one.split() for one in lines if one.startswith("Private_")]
    return sum(int(one[1]) for one in own) / 1000
