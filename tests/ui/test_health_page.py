"""The page Health, in a browser: what the service and its hosts say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec.structs import replace

import gantt
from gantt.model.hosts import Service
from gantt.model.protocol import GanttProtocol
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import FEW

pytestmark = pytest.mark.server("chromium")

TILES = """const text = (one, part) => one.querySelector(part).textContent;
return Object.fromEntries([...document.querySelectorAll(".health .tile")].map((one) =>
  [text(one, ".name"),
   [text(one, "b"), text(one, "small"), one.classList.contains("bad")]]))"""
SILENT = """return [...document.querySelectorAll(
  "[aria-label='Hosts that take no requests'] tbody tr td:first-child")].map(
  (one) => one.textContent)"""
AUDITED = """return [...document.querySelectorAll("h3")].some(
  (one) => one.textContent.startsWith("Audit findings"))"""


@pytest.fixture
def books(few: Live) -> Iterator[GanttProtocol]:
    with closing(gantt.connect(few.database)) as found:
        yield found


def test_the_service_tells_of_itself(window: Window, books: GanttProtocol) -> None:
    window.open("#/health")
    window.wait("return document.querySelectorAll('.health .tile').length > 5")
    tiles = window.run(TILES)
    assert tiles["service"][0] == "ready"
    assert tiles["database"][0] == "answers"
    assert int(tiles["processes"][0]) >= 1
    assert not any(is_wrong for *_, is_wrong in tiles.values()), tiles
    before = tiles["revision"][1]
    books.update_service(Service(fleets.name(70), disabled=True))
    window.wait(TILES + ".revision[1] !== arguments[0]", before)
    window.wait("return document.querySelector('.spark polyline')")


def test_hosts_that_are_down_lead_to_the_fleet(
    window: Window, books: GanttProtocol
) -> None:
    window.open("#/health")
    silent = window.wait(SILENT)
    assert set(silent) >= {
        fleets.name(number) for number in range(FEW) if number % 97 == 5 and number > 7
    }
    name = fleets.name(71)
    assert name not in silent
    books.update_service(Service(name, forced_down=True))
    window.wait(SILENT + ".includes(arguments[0])", name)
    window.run(
        """[...document.querySelectorAll(".health a")].find(
          (one) => one.textContent === arguments[0]).click()""",
        name,
    )
    title = "return document.querySelector('aside h2')?.innerText.trim()"
    assert window.wait(title) == name
    books.update_service(Service(name, forced_down=False))


def test_findings_of_the_audit(window: Window, books: GanttProtocol) -> None:
    view = books.list_hosts(host=fleets.name(72))[0]
    assert view.provider_uuid is not None
    before = books.get_inventories(view.provider_uuid).inventories["VCPU"]
    books.set_inventory(view.provider_uuid, "VCPU", replace(before, total=1000))
    known = books.audit().counts
    assert known["inventory_drift"] == 1
    window.open("#/health")
    window.wait(AUDITED)
    told = window.run("return document.querySelector('.health').innerText")
    for kind, count in known.items():
        assert f"{count} {kind}" in told
    assert re.search(r"known of 0 of \d+ hosts, \d+ no list\.", told)
    window.run(
        """[...document.querySelectorAll("button")].find(
          (one) => one.textContent === "Audit again").click()"""
    )
    window.wait("return document.querySelector('.note:not([hidden])') === null")


def test_a_service_that_is_not_ready_is_seen(window: Window) -> None:
    window.open(token=None)
    window.run(
        """const fetched = window.fetch;
        window.fetch = (url, about) => String(url).endsWith("/readyz")
          ? Promise.resolve(new Response("NOT READY: <b>no database</b>",
                                         { status: 503 })) : fetched(url, about);
        location.hash = "#/health";"""
    )
    window.wait("return document.getElementById('token')")
    window.driver.find_element("id", "token").send_keys("admin\n")
    window.wait("return document.querySelector('.tile.bad')")
    assert window.run(TILES)["service"] == ["not ready", "<b>no database</b>", True]


def test_a_token_without_a_role_sees_the_service_alone(
    chromium: Chromium, few: Live
) -> None:
    with chromium.window(few.url) as window:
        window.open("#/health", token="ann:blue")
        denied = "return document.querySelectorAll('.part[hidden]').length === 3"
        window.wait(denied)
        window.wait("return document.querySelector('.spark')")  # it has looked again
        assert window.run(TILES)["service"][0] == "ready"
        assert len([one for one in window.asked() if "gantt/recent" in one]) == 1


def test_bounds_of_a_histogram(window: Window) -> None:
    window.open(token=None)
    script = """
    const { read, quantile, growth } = await import("./ui/metrics.js");
    const text = (few, all, count) => `# HELP a_bucket x
a_bucket{le="0.5"} ${few}\\na_bucket{le="1.0"} ${all}\\na_bucket{le="+Inf"} ${all}
n_total{rc="x y"} ${count}\\nn_total 1.0\\n`;
    const [one, two] = [read(text(9, 10, 4)), read(text(9, 20, 6.5))];
    return [quantile(one, null, "a", 0.5), quantile(one, null, "a", 0.99),
      quantile(two, one, "a", 0.5), quantile(two, two, "a", 0.4),
      quantile(one, null, "none", 0.5), growth(two, one, "n_total"),
      growth(one, two, "n_total"), growth(one, null, "n_total")];"""
    assert window.await_(script) == [0.5, 1, 1, 0.5, None, 2.5, None, None]


def test_narrow_screens_and_names_of_everything(chromium: Chromium, few: Live) -> None:
    with chromium.window(few.url, width=500, height=800) as window:
        window.open("#/health")
        window.wait(SILENT + ".length")
        window.wait(AUDITED)
        assert window.is_narrow()
        assert window.nameless() == []
        assert window.faults() == []
