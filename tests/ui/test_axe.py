"""axe-core finds nothing on any page, in either theme: names, landmarks, contrast."""

from __future__ import annotations

from importlib.resources import files

import pytest

from gantt.errors import NoValidHost
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.live import Live
from tests.ui.browser import Chromium, Window
from tests.ui.looking_glass import opened

pytestmark = pytest.mark.server("chromium")

AXE = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
# What each page shows when it has its answers.
PAGES = {
    "fleet": ({}, ".wrongs li a"),
    "fleet as a table": ({"view": "table"}, "table.long tbody td button"),
    "fleet with a host": ({"host": "host00100"}, "aside.host dl"),
    "instances": ({}, "table.long tbody tr[aria-rowindex] td"),
    "decisions": ({}, "table.long tbody tr[aria-rowindex] td"),
    "decisions with one": ({"q": "req-axe"}, "aside.decision dl"),
    "try": ({"vcpus": "4096", "memory_mb": "1"}, ".refused"),
    "capacity": ({}, ".part table tbody td"),
    "health": ({}, ".health table td"),
    "shadow": ({}, ".part > .note:not([role]), .part tbody td"),
}
AS_READER = """const fetched = window.fetch;
window.fetch = (url, about) => fetched(url, {
  ...about, headers: {...about?.headers, "X-Roles": "reader"}});"""
FOUND = """const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  ({violations}) => done(violations.map(
    ({id, nodes}) => [id, nodes.length, nodes[0].html])),
  (error) => done([String(error)]));"""


def faults(window: Window) -> list[object]:
    window.run(AXE + "; window.axe = axe;")
    found: list[object] = window.driver.execute_async_script(FOUND)
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_fault(
    window: Window, books: GanttProtocol, page: str, theme: str
) -> None:
    big = ScheduleRequest(
        RequestSpec(flavor=Flavor(vcpus=4096, memory_mb=1)), request_id="req-axe"
    )
    with pytest.raises(NoValidHost):
        books.schedule(big)
    params, shown = PAGES[page]
    opened(window, page.partition(" ")[0], **params)
    window.run(f"document.documentElement.dataset.theme = '{theme}'")
    if page == "decisions with one":
        window.wait("return document.querySelector('table.long tbody td button')")
        window.click("table.long tbody td button")
    window.wait(f"return document.querySelector({shown!r})")
    assert faults(window) == []


def test_the_sign_in_has_no_fault(window: Window) -> None:
    window.open(token=None)
    window.wait("return document.querySelector('.login input')")
    assert faults(window) == []


def test_what_a_member_sees_has_no_fault(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url, width=390, height=844) as window:
        window.open(token=None)
        window.run(AS_READER)
        window.wait("return document.getElementById('token')")
        window.driver.find_element("id", "token").send_keys("ann:blue\n")
        window.wait(
            "return document.querySelector('[data-member] .part:not([hidden])')"
        )
        assert faults(window) == []
