"""What is redrawn keeps the keyboard's focus, what is open, and what is scrolled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from gantt.model.protocol import GanttProtocol
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.looking_glass import opened, serving

pytestmark = pytest.mark.server("chromium")

HOSTS = 40
FLAVOR = "vcpus=1,memory_mb=1024"
FOCUS = """window.before = [...document.querySelectorAll(arguments[0])].find(
    (one) => one.textContent.includes(arguments[1]) || one.ariaLabel === arguments[1]);
  window.before?.focus();
  return window.before && window.before === document.activeElement"""
LOOK = "document.dispatchEvent(new Event('visibilitychange'))"
"""A page that is seen again asks at once."""
REDRAWN = "return !window.before.isConnected"
FOCUSED = """const one = document.activeElement;
  return [one.tagName, one.ariaLabel ?? one.textContent, one.scrollLeft,
          one.closest("details")?.open ?? null]"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with serving(tmp_path_factory.mktemp("focus"), HOSTS) as live:
        yield live


def use_more(books: GanttProtocol, number: int) -> None:
    """Of a host that is in the tables, so that they are drawn again."""
    name = fleets.name(20)
    provider = next(one.uuid for one in books.list_providers() if one.name == name)
    books.set_allocations([fleets.use(provider, number, 1, 8)])


@pytest.mark.parametrize(
    ("kind", "name", "number"),
    [
        ("[role=group]", "Zones now", 1),
        ("h3:has(+ [aria-label='Zones now']) button", "CSV", 2),
        ("summary", FLAVOR, 3),
        ("details a", fleets.name(7), 4),
        ("details h3 button", "CSV", 5),
    ],
)
def test_what_has_the_focus_on_capacity_keeps_it(
    chromium: Chromium,
    service: Live,
    books: GanttProtocol,
    *,
    kind: str,
    name: str,
    number: int,
) -> None:
    with chromium.window(service.url, width=500, height=800) as window:
        opened(window, "capacity", flavors=f"{FLAVOR} vcpus=2")
        window.wait("return document.querySelectorAll('details').length === 2")
        window.run("document.querySelector('details').open = true")
        window.wait(FOCUS, kind, name)
        window.run("window.before.scrollLeft = 40")
        page = "document.querySelector('main')"
        window.run(f"{page}.scrollTop = 200")
        known, at = window.run(FOCUSED), window.run(f"return {page}.scrollTop")
        use_more(books, number)
        window.run(LOOK)
        window.wait(REDRAWN)
        assert window.run(FOCUSED) == known
        assert window.run("return document.querySelector('details').open")
        assert window.run(f"return {page}.scrollTop") == at
        assert window.faults() == []


def test_a_choice_keeps_the_focus(window: Window) -> None:
    window.open("#/capacity")
    window.wait(FOCUS, "select", "period")
    window.press("day")
    window.wait("return location.hash.includes('period=day')")
    window.wait(REDRAWN)
    assert window.run(FOCUSED)[:2] == ["SELECT", "period"]


def test_the_head_that_sorts_keeps_the_focus(window: Window) -> None:
    opened(window, "fleet", view="table")
    window.wait(FOCUS, "thead button", "Host")
    window.press(Keys.ENTER)
    window.wait(REDRAWN)
    assert window.run(FOCUSED)[:2] == ["BUTTON", "Host ↓"]


def test_a_row_keeps_the_focus(window: Window, books: GanttProtocol) -> None:
    opened(window, "fleet", view="table")
    name = fleets.name(7)
    window.wait(FOCUS, "tbody button", name)
    use_more(books, 6)
    window.wait(REDRAWN)
    assert window.run(FOCUSED)[:2] == ["BUTTON", name]


def test_an_audit_keeps_the_focus(window: Window) -> None:
    window.open("#/health")
    window.wait("return document.querySelector('button.small:not([aria-disabled])')")
    window.wait(FOCUS, "button:not([aria-disabled])", "Audit again")
    window.press(Keys.ENTER)
    window.wait(REDRAWN)
    window.wait("return document.activeElement.ariaDisabled !== 'true'")
    assert window.run(FOCUSED)[:2] == ["BUTTON", "Audit again"]


def test_in_place_of_what_is_gone_its_neighbour_has_the_focus(window: Window) -> None:
    window.open()
    window.wait("return document.querySelector('.tile')")
    found = window.await_(
        """const { button, el, fill } = await import("./ui/elements.js");
        const root = el("div");
        document.body.append(root);
        const put = (...names) => fill(root, names.map((one) => button(one)));
        const after = (at, ...names) => {
          put("a", "b", "b", "c");
          root.children[at].focus();
          put(...names);
          return [...root.children].indexOf(document.activeElement);
        };
        return [after(0, "c", "b", "a"), after(2, "b", "a", "b"),
                after(1, "a", "c"), after(3, "a", "b"), after(3)]"""
    )
    assert found == [2, 2, 1, 1, -1]
