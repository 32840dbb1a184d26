"""The page Instances, and the search for one from every page: where each leads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from gantt.model.hosts import Instance
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import HOSTILE
from tests.ui.looking_glass import admin_of, serving

pytestmark = pytest.mark.server("chromium")

NAMES = ("web-1", "web-2", "db-1", *HOSTILE)
BLUE = "blue"
CELLS = """return [...document.querySelectorAll('table.long tbody tr[aria-rowindex]')]
    .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"""
FIRST = "return document.querySelector('table.long tbody tr[aria-rowindex]')?.innerText"
ALL = len(NAMES) + 2  # two that every fleet has
NOTE = "return document.querySelector('.note:not([hidden])')?.textContent"
PANEL = "return document.querySelector('aside dl')?.parentElement.innerText"


def instance(number: int) -> str:
    return fleets.uuid(5, number)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service where a host names some of its instances, as Nova told."""
    with serving(tmp_path_factory.mktemp("instances"), 24) as live:
        with admin_of(live) as books:
            for number, name in enumerate(NAMES):
                project = BLUE if number < 2 else fleets.PROJECT
                spec = RequestSpec(
                    flavor=Flavor(vcpus=1, memory_mb=64, name="m1"),
                    project_id=project,
                    user_id="ann",
                )
                uuid = instance(number)
                asked = ScheduleRequest(spec, (uuid,), request_id=f"req-{number}")
                ((chosen, *_),) = books.schedule(asked)
                named = Instance(uuid, {"display_name": name})
                if number:
                    books.update_instances(chosen.service_host, [named])
        yield live


def seek(window: Window, text: str) -> None:
    """From wherever it is, with nothing being typed."""
    window.run("document.activeElement.blur()")
    window.press("i")
    window.press(text)
    window.press(Keys.ENTER)


def test_an_instance_leads_to_its_host_decision_and_claim(
    window: Window, books: GanttProtocol
) -> None:
    window.open("#/health")
    window.wait("return document.querySelector('.health table td')")
    seek(window, "WEB-2")
    window.wait(FIRST + "?.includes('web-2')")
    (row,) = window.run(CELLS)
    decision = books.decisions(instance_uuid=instance(1))[0]
    host = decision.chosen[0][0].service_host
    assert row[:5] == ["web-2", instance(1), BLUE, "named", host]
    window.run("document.querySelector('table.long td a[href*=fleet]').click()")
    assert "web-2" in window.wait(PANEL + "?.includes('Consumer') && " + PANEL[7:])
    seek(window, instance(1)[:13])
    window.wait(f"{CELLS}.length === {len(NAMES)}")
    window.run(
        "document.querySelector(arguments[0]).click()",
        f"td a[aria-label='Decisions about {NAMES[1]}']",
    )
    window.wait(FIRST + "?.includes('req-1')")
    window.run("document.querySelector('table.long tbody button').click()")
    text = window.wait(PANEL)
    assert "web-2" in text and instance(1) in text and decision.request_id in text


def test_a_claim_that_no_host_names_is_found_with_its_lease(window: Window) -> None:
    window.open(f"#/instances?q={instance(0)}")
    window.wait(FIRST)
    (row,) = window.run(CELLS)
    assert row[0] == "–" and row[3] == "claimed" and len(row[5]) == 36


def test_by_project_as_it_is_typed_and_nothing(window: Window) -> None:
    window.open("#/instances")
    window.wait(f"{CELLS}.length === {ALL}")
    window.press("/")
    window.press(BLUE)
    window.wait(f"{CELLS}.length === 2")
    window.wait("return location.hash === '#/instances?q=blue'")
    window.press("-none")
    window.wait(NOTE + "?.includes('No instance has this in its name or uuid')")
    assert window.run("return document.querySelector('.note a').hash") == (
        "#/decisions?q=blue-none"
    )


def test_a_long_list_is_cut_and_says_so(window: Window) -> None:
    window.open(token=None)
    window.run(
        """const fetched = window.fetch;
        window.fetch = async (url, about) => {
          const answer = await fetched(url, about);
          if (!String(url).includes("gantt/instances")) return answer;
          const found = await answer.json(), one = found.instances[0];
          return Response.json({instances: Array(50).fill(one), next: "more"});
        };
        location.hash = "#/instances?q=0";"""
    )
    window.wait("return document.getElementById('token')")
    window.driver.find_element("id", "token").send_keys("admin\n")
    window.wait("return document.querySelector('.legend')?.innerText.includes('first')")
    assert window.is_narrow() is not None


def test_hostile_names_are_text(window: Window) -> None:
    window.open("#/instances?sort=name")
    window.wait(f"{CELLS}.length === {ALL}")
    shown = {row[0] for row in window.run(CELLS)}
    for name in HOSTILE:
        for hidden in ("\u202e", "\u202c", "\u200b"):
            name = name.replace(hidden, f"\\u{ord(hidden):04x}")
        assert name in shown
    assert window.count("script") == 1
    assert window.count("td img, td b") == 0
    assert window.nameless() == []


def test_a_member_sees_its_own_without_hosts(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url) as window:
        window.open(token=None)
        window.run(
            """const fetched = window.fetch;
            window.fetch = (url, about) => fetched(url, {
              ...about, headers: {...about?.headers, "X-Roles": "reader"}});
            location.hash = "#/instances";"""
        )
        window.wait("return document.getElementById('token')")
        window.driver.find_element("id", "token").send_keys(f"ann:{BLUE}\n")
        window.wait(f"{CELLS}.length === 2")
        rows = window.run(CELLS)
        assert {row[1] for row in rows} == {instance(0), instance(1)}
        assert {row[4] for row in rows} == {"–"}
        assert {row[0] for row in rows} == {"–", "web-2"}
