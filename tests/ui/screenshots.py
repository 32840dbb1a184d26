"""The pictures of the documentation, taken anew in a real browser.

Usage: python -m tests.ui.screenshots [FOLDER]

The map has ten thousand hosts; the refusal is that of the tutorial, whose commands are
typed first; ``night`` has the troubles of ``planted``; the others show the fleet of
``make demo``. FOLDER: docs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode
from uuid import uuid4

from gantt.model.spec import RequestSpec, ScheduleRequest
from scripts import demo_fleet
from tests import live
from tests.live import Live
from tests.shown import Terminal, document
from tests.test_tutorial import SERVED
from tests.tidy.source import ROOT
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import MANY
from tests.ui.looking_glass import admin_of, served, written_once
from tests.ui.planted import planted

DOCS: Final = ROOT / "docs"
SEEN: Final = "return document.body.innerText.includes(arguments[0])"
# The first row that has such a text leads on.
OPEN: Final = """
const rows = [...document.querySelectorAll("main tbody tr")];
const one = rows.find((row) => row.innerText.includes(arguments[0]));
one?.querySelector("a, button").click();
return Boolean(one);
"""
# Long enough for the pages that ask every two seconds to have asked twice.
SETTLED: Final = """
await new Promise((done) => setTimeout(done, 4500));
await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
"""


class Picture(NamedTuple):
    """``page``, ``params``: the address; ``opens``: the row of a table that is opened
    then; ``text``: what is there once all is."""

    name: str
    page: str
    text: str
    params: tuple[tuple[str, str], ...] = ()
    opens: str = ""
    theme: str = "light"
    size: tuple[int, int] = (1280, 900)


HOSTS: Final = (
    Picture("map", "fleet", f"{MANY:,}", theme="dark", size=(1280, 760)),
    Picture(
        "host",
        "fleet",
        "Cells and devices",
        (("host", "host00022"),),
        size=(1280, 820),
    ),
)
REFUSAL: Final = (
    Picture("refusal", "decisions", "Nearest hosts", opens="refused", size=(1300, 900)),
)
NIGHT: Final = (Picture("night", "fleet", "The audit found", size=(1280, 620)),)
FLAVORS: Final = "vcpus=2,memory_mb=4096,disk_gb=20 vcpus=8,memory_mb=32768,disk_gb=80"
ASKED: Final = {"vcpus": "4", "memory_mb": "8192", "disk_gb": "40", "count": "3"}
DEMO: Final = (
    Picture("decision", "decisions", "Scores of", opens=", ", size=(1440, 1240)),
    Picture(
        "try",
        "try",
        "Choice",
        (*ASKED.items(), ("group", "anti-affinity")),
        theme="dark",
        size=(1280, 900),
    ),
    Picture(
        "capacity",
        "capacity",
        "fit together",
        (("flavors", FLAVORS),),
        size=(1280, 1240),
    ),
    Picture("health", "health", "Audit again", size=(1440, 900)),
)


def take(chromium: Chromium, service: Live, each: Sequence[Picture], to: Path) -> None:
    """Save each, where nothing went wrong. Raises AssertionError."""
    for one in each:
        width, height = one.size
        with chromium.window(service.url, width=width, height=height) as window:
            show(window, one)
            file = to / f"dashboard-{one.name}.png"
            assert window.driver.get_screenshot_as_file(str(file))
            assert window.faults() == [], one.name
        print(file)


def show(window: Window, picture: Picture) -> None:
    """Go there, and wait until all of it can be seen."""
    window.open(token=None)
    window.run("localStorage.setItem('gantt.theme', arguments[0])", picture.theme)
    window.open(f"#/{picture.page}?{urlencode(picture.params)}")
    if picture.opens:
        window.wait(OPEN, picture.opens)
    window.wait(SEEN, picture.text)
    window.await_(SETTLED)


@contextmanager
def with_many(folder: Path) -> Iterator[Live]:
    """Ten thousand hosts."""
    with served(written_once(folder, folder, MANY)) as service:
        yield service


@contextmanager
def after_the_tutorial(folder: Path) -> Iterator[Live]:
    """This machine's books, when all of the tutorial has been typed."""
    url = f"sqlite:///{folder}/gantt.db"
    service = live.start(url, folder / "log", options=SERVED)
    try:
        instead = {"make run": lambda: None}
        text = document("docs/tutorial/first-decision.md")
        Terminal(service.url, instead=instead).follow(text)
        yield service
    finally:
        service.kill()


@contextmanager
def demo(folder: Path) -> Iterator[Live]:
    """Fifty hosts with three weeks of history, and some requests just now."""
    demo_fleet.main(folder)
    options = ("--config-file", str(folder / "gantt.conf"), "--auth", "noauth2")
    url = f"sqlite:///{folder}/gantt.db"
    service = live.start(url, folder / "log", options=options)
    try:
        with admin_of(service) as books:
            for flavor in (demo_fleet.SMALL, demo_fleet.LARGE, demo_fleet.PINNED):
                spec = RequestSpec(flavor, project_id=demo_fleet.PROJECTS[0])
                books.schedule(ScheduleRequest(spec, (str(uuid4()),)))
        yield service
    finally:
        service.kill()


def main() -> None:
    """Take all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    to: Path = parser.parse_args().folder
    to.mkdir(parents=True, exist_ok=True)
    with closing(Chromium()) as chromium:
        for serving, pictures in (
            (with_many, HOSTS),
            (after_the_tutorial, REFUSAL),
            (demo, DEMO),
            (planted, NIGHT),
        ):
            with tempfile.TemporaryDirectory() as name, serving(Path(name)) as service:
                take(chromium, service, pictures, to)


if __name__ == "__main__":
    main()
