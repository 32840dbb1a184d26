"""A browser, and services with fleets to look at."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gantt.model.protocol import GanttProtocol
from tests.live import Live
from tests.ui.browser import Chromium, Window
from tests.ui.looking_glass import admin_of, served, serving, written_once

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


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with ten thousand hosts."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    folder = tmp_path_factory.mktemp("many")
    with served(written_once(place, folder, MANY)) as live:
        yield live


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with some hosts, the first of which have hostile names."""
    with serving(tmp_path_factory.mktemp("few"), FEW, names=HOSTILE) as live:
        yield live


@pytest.fixture(scope="module")
def service(few: Live) -> Live:
    """What is looked at; modules have their own."""
    return few


@pytest.fixture
def books(service: Live) -> Iterator[GanttProtocol]:
    """Its library, as an operator."""
    with admin_of(service) as found:
        yield found


@pytest.fixture
def window(chromium: Chromium, service: Live) -> Iterator[Window]:
    """A window that looks at ``service``; nothing may have gone wrong in it."""
    with chromium.window(service.url) as found:
        yield found
        assert found.faults() == []
        assert found.elsewhere() == []
