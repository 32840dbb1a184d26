"""The page Try, in a browser: where a request would land, and how many more fit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from gantt.cli.flavor import flavor
from gantt.errors import NoValidHost
from gantt.model.hosts import ServerGroup
from gantt.model.paging import PAGE
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Image, InstanceGroup, RequestSpec, ScheduleRequest
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import HOSTILE
from tests.ui.looking_glass import admin_of, opened, serving
from tests.ui.tables import ROWS, SAVED

pytestmark = pytest.mark.server("chromium")

HOSTS = 60
GROUP = fleets.uuid(6, 1)
REFUSED = "req-refused"
TITLE = "return document.querySelector('aside.decision:not([hidden]) h2')?.textContent"
HELP = "return document.querySelector('aside .help')?.textContent"
SIZE = {"vcpus": "2", "memory_mb": "4096", "disk_gb": "20"}
WORDS = ",".join(f"{name}={amount}" for name, amount in SIZE.items())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service whose hosts and zones have hostile names, with a refusal."""
    folder = tmp_path_factory.mktemp("try")
    with serving(folder, HOSTS, names=HOSTILE, zones=("<b>az</b>",)) as live:
        with admin_of(live) as books:
            groups = [*(fleets.uuid(4, number) for number in range(2 * PAGE)), GROUP]
            for uuid in groups:
                books.set_server_group(ServerGroup(uuid, policy="anti-affinity"))
            spec = RequestSpec(
                flavor("vcpus=4000,memory_mb=1024"),
                image=Image(properties={"mine": "secret"}),
            )
            with pytest.raises(NoValidHost):
                books.schedule(
                    ScheduleRequest(spec, (fleets.uuid(5, 1),), request_id=REFUSED)
                )
        yield live


def hosts(books: GanttProtocol, spec: RequestSpec) -> list[str]:
    found = books.decide(ScheduleRequest(spec))
    return [mine[0].service_host for mine in found.chosen]


def test_it_lands_where_the_scheduler_says(
    window: Window, books: GanttProtocol
) -> None:
    spec = RequestSpec(
        flavor(f"{WORDS},trait:CUSTOM_GPU=required"),
        num_instances=3,
        instance_group=InstanceGroup(policy="anti-affinity"),
    )
    opened(
        window, "try", **SIZE, count="3", required="CUSTOM_GPU", group="anti-affinity"
    )
    expected = hosts(books, spec)
    title = window.wait(TITLE)
    assert len(set(expected)) == 3
    assert title.startswith("On ") and expected[1] in title
    room = books.capacity(spec)
    assert f"{room.total} like this fit now, on {len(room.hosts)} hosts" in window.run(
        HELP
    )
    where = window.wait(ROWS, "Where", None)
    assert sum(int(one[1]) for one in where) == room.total
    assert window.count(".legend .ring") == 1


def test_nothing_is_claimed(window: Window, books: GanttProtocol) -> None:
    providers = [one.uuid for one in books.list_providers()]
    used = [books.get_usages(one) for one in providers]
    opened(window, "try", **SIZE, count="2")
    window.wait(TITLE)
    assert [books.get_usages(one) for one in providers] == used
    (record,) = books.decisions(limit=1)
    assert record.is_dry_run


def test_a_form_builds_the_request(window: Window, books: GanttProtocol) -> None:
    """With the keyboard alone; what it says is in the address."""
    window.open("#/try")
    window.wait("return document.querySelector('form.request input[name=vcpus]')")
    assert "Nothing is claimed" in window.text()
    window.run("document.querySelector('[name=vcpus]').select()")
    window.press("3")
    box = window.driver.find_element("css selector", "[list=offer-forbidden]")
    box.send_keys("CUSTOM_GPU" + Keys.TAB)
    box = window.driver.find_element("css selector", "[list=offer-within]")
    box.send_keys("rack30" + Keys.TAB)
    window.run("document.querySelector('[name=count]').focus()")
    window.press(Keys.ENTER)
    window.wait(TITLE)
    address = window.run("return location.hash")
    for part in ("vcpus=3", "forbidden=CUSTOM_GPU", "within=rack30", "count=1"):
        assert part in address
    host = window.run("return document.querySelector('aside td a').textContent")
    (rack,) = [one for one in books.list_host_aggregates() if one.name == "rack30"]
    assert host in rack.hosts
    # Without the aggregate again, by its button.
    window.click("[aria-label='Remove rack30']")
    window.click("form.request .primary")
    window.wait("return !location.hash.includes('rack30')")
    window.wait(TITLE)


def test_a_known_server_group(window: Window) -> None:
    """More are offered than the first page of the list has."""
    opened(window, "try", **SIZE, count="2", group=GROUP)
    title = window.wait(TITLE)
    assert "," in title, "on two hosts"
    chosen = window.run("return document.querySelector('[name=group]').value")
    assert chosen == GROUP
    offered = window.run("return document.querySelector('[name=group]').options.length")
    assert offered > 2 * PAGE


def test_a_refusal_is_tried_changed(window: Window, books: GanttProtocol) -> None:
    """From its record: as it was, and with the smallest change."""
    (record,) = books.decisions(request_id=REFUSED)
    window.open(f"#/decisions?request={REFUSED}&at={record.at}")
    assert window.wait(TITLE) == "No valid host"
    assert "image property mine" in window.text(), "what the record does not keep"
    assert "secret" not in window.run("return document.body.innerHTML")
    window.driver.find_element("link text", "Try the changed request").click()
    window.wait("return location.hash.startsWith('#/try')")
    assert window.wait(TITLE).startswith("On ")
    given = window.run(
        "return document.querySelector('[data-name=given_up]').textContent"
    )
    assert record.why is not None and "instead of 4000" in given
    window.driver.refresh()
    assert window.wait(TITLE).startswith("On "), "the link says all"
    # Without giving anything up it is refused as before.
    window.click("[data-name=given_up] button")
    window.click("form.request .primary")
    window.wait(TITLE + " === 'No valid host'")
    assert record.why.change == window.run(
        "return [...document.querySelectorAll('aside .help')].at(-1).textContent"
    )


def test_what_is_wrong_is_told(window: Window) -> None:
    opened(window, "try", spec="{", vcpus="1")
    wrong = "return document.querySelector('section .wrong')?.textContent"
    assert window.wait(wrong)
    opened(window, "try", vcpus="1", more="<img src=x>=2")
    assert "is not a field of a flavor" in window.wait(wrong)
    opened(window, "try", vcpus="1", given_up='{"kind": "zone", "suffix": null}')
    assert "given_up" in window.wait(wrong)
    window.faults()
    window.errors[:] = [one for one in window.errors if "400" not in one]


def test_hostile_names_are_text(window: Window) -> None:
    forced = json.dumps({"force_hosts": [HOSTILE[0]]})
    opened(window, "try", **SIZE, zone="<b>az</b>", spec=forced)
    title = window.wait(TITLE)
    assert title == f"On {HOSTILE[0]}"
    zone = window.run("return document.querySelector('[name=zone]').value")
    assert zone == "<b>az</b>"
    assert window.count("main script, b b") == 0


def test_tables_are_saved_as_csv(window: Window, books: GanttProtocol) -> None:
    opened(window, "try", **SIZE)
    window.wait(TITLE)
    head, *rows = csv.reader(io.StringIO(window.await_(SAVED, "Scores of")))
    assert head[:3] == ["Rank", "Host", "Weight"]
    found = books.decide(ScheduleRequest(RequestSpec(flavor(WORDS))))
    assert len(rows) == len(found.scores) > 50, "more than are shown"


def test_without_the_role_it_says_so(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url) as window:
        window.open("#/try?vcpus=1", token="ann:blue")
        window.wait("return document.querySelector('section .wrong')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_screens_and_names(
    chromium: Chromium, service: Live, theme: str
) -> None:
    with chromium.window(service.url, width=500, height=800) as window:
        window.open("#/try", token=None)
        window.run("localStorage.setItem('gantt.theme', arguments[0])", theme)
        window.open("#/try?vcpus=1&count=2")
        window.wait(TITLE)
        assert window.is_narrow()
        assert window.nameless() == []
        assert window.faults() == []
