"""A browser, and services with fleets to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import Live, start
from tests.ui import fleets
from tests.ui.browser import Chromium, Window

MANY = 10_000
FEW = 120
# What would be markup, a formula, or hidden, if it were taken for more than text.
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\u202eevil\u202c\u200bhost",
    '=HYPERLINK("x")',
    "\U0001f525 fire",
    "l" * 200,  # the longest that a resource provider can bear
    "a&amp;b \"quoted\" 'name'",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser of this run; tests mark themselves with server("chromium")."""
    browser = Chromium()
    yield browser
    browser.close()


def _serve(folder: Path, hosts: int, names: tuple[str, ...] = ()) -> Iterator[Live]:
    file = folder / "gantt.db"
    fleets.write(file, hosts, names=names)
    live = start(f"sqlite:///{file}", folder / "serve.log")
    try:
        yield live
    finally:
        live.kill()


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with ten thousand hosts."""
    yield from _serve(tmp_path_factory.mktemp("many"), MANY)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with some hosts, the first of which have hostile names."""
    yield from _serve(tmp_path_factory.mktemp("few"), FEW, HOSTILE)


@pytest.fixture
def window(chromium: Chromium, few: Live) -> Iterator[Window]:
    """A window that looks at ``few``; nothing may have gone wrong in it."""
    with chromium.window(few.url) as found:
        yield found
        assert found.faults() == []
        assert found.elsewhere() == []
