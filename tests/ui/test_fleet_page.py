"""The page Fleet, in a browser: it shows what the API says, as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

import gantt
from gantt.model.hosts import Service
from gantt.model.protocol import GanttProtocol
from tests.live import Live, start
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import FEW, HOSTILE

pytestmark = pytest.mark.server("chromium")

SHOWN = "return document.querySelector('.tile b')?.textContent"
HOST = fleets.name(fleets.FURNISHED)
PANEL = "return document.querySelector('aside h2')?.innerText.trim()"
WHOLE = "return document.querySelector('aside dl')?.parentElement.innerText"


@pytest.fixture
def books(few: Live) -> Iterator[GanttProtocol]:
    found = gantt.connect(few.database)
    yield found
    found.close()


def hash_of(window: Window) -> str:
    return str(window.run("return location.hash"))


def test_a_token_signs_in(window: Window) -> None:
    window.open(token=None)
    assert "believes every token" in window.wait(
        "return document.querySelector('.hint')?.textContent"
    )
    window.driver.find_element("id", "token").send_keys("admin\n")
    assert window.wait(SHOWN) == str(FEW)
    assert window.run("return document.cookie") == ""
    assert window.run("return localStorage.length") == 0
    assert not [one for one in window.asked() if "admin" in one]


def test_a_token_without_a_role_is_told(chromium: Chromium, few: Live) -> None:
    with chromium.window(few.url) as window:
        window.open(token="ann:blue")
        note = "return document.querySelector('.note:not([hidden])')?.textContent"
        window.wait(note + ".includes('may not list hosts')")


def test_signing_out_forgets_the_token(window: Window) -> None:
    window.open()
    window.wait(SHOWN)
    window.driver.find_element("xpath", "//button[.='Sign out']").click()
    window.wait("return document.querySelector('form.login')")
    assert window.run("return sessionStorage.length") == 0


def test_a_link_shows_the_same(window: Window) -> None:
    window.open(f"#/fleet?group=trait%3ACUSTOM_GPU&colour=use%3ADISK_GB&host={HOST}")
    assert window.wait(PANEL) == HOST
    chosen = "return [...document.querySelectorAll('select')].map((one) => one.value)"
    assert window.run(chosen) == ["trait:CUSTOM_GPU", "use:DISK_GB", ""]
    window.press(Keys.ESCAPE)
    window.wait("return document.querySelector('aside').hidden")
    assert "host=" not in hash_of(window)
    window.driver.back()
    assert window.wait(PANEL) == HOST


def test_a_host_in_full(window: Window) -> None:
    window.open(f"#/fleet?host={HOST}")
    text = window.wait(WHOLE)
    for part in (f"{HOST}_gpu", "VGPU", "Cell 0", "Cell 1", "physnet0", "rack23"):
        assert part in text
    assert fleets.uuid(4, 2) in text, "the instance of the pending claim"
    assert fleets.uuid(4, 1) in text, "the instance that the host names"
    lease = window.run("return document.querySelector('.lease').textContent")
    assert lease.endswith("min")


def test_hostile_names_are_text(window: Window) -> None:
    window.open("#/fleet?view=table&sort=host")
    window.wait(
        "return document.querySelectorAll('table.long tbody button').length > 5"
    )
    for name in HOSTILE:
        window.run("location.hash = arguments[0]", "#/fleet?view=table")
        box = window.driver.find_element("css selector", "main input[type=search]")
        box.clear()
        window.run(
            "const box = arguments[0]; box.value = arguments[1];"
            "box.dispatchEvent(new Event('input'));",
            box,
            name,
        )
        window.wait(
            "return document.querySelectorAll('table.long tbody button').length === 1"
        )
        window.click("table.long tbody button")
        shown = name.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c")
        shown = shown.replace("\u200b", "\\u200b")
        window.says("aside h2", shown)
        window.wait(WHOLE)
    assert window.count("script") == 1
    assert window.count("img") == 0


def test_the_keyboard_is_enough(window: Window) -> None:
    window.open()
    window.wait(SHOWN)
    window.run("document.querySelector('canvas').focus()")
    window.press(Keys.HOME)
    said = "return document.getElementById('said').textContent"
    first = window.wait(said)
    window.press(Keys.ARROW_RIGHT)
    window.wait(said + " !== arguments[0]", first)
    window.press("+")
    window.press("-")
    window.press("0")
    window.press(Keys.ENTER)
    assert str(window.wait(PANEL)) in window.run(said)
    window.press(Keys.ESCAPE)
    window.wait("return document.querySelector('aside').hidden")
    window.press("/")
    window.press("host00050")
    window.says(".found", "1 found")
    window.press(Keys.ENTER)
    assert window.wait(PANEL) == "host00050"


def test_a_uuid_leads_to_its_host(window: Window) -> None:
    window.open(f"#/fleet?q={fleets.uuid(4, 2)}")
    assert window.wait(PANEL) == HOST


def test_a_change_is_seen_at_once(window: Window, books: GanttProtocol) -> None:
    name = fleets.name(60)
    window.open(f"#/fleet?host={name}")
    window.wait("return document.querySelector('.live').dataset.state === 'live'")
    window.wait(WHOLE)
    window.says("aside .badge", "enabled")
    books.update_service(Service(name, disabled=True))
    window.says("aside .badge", "disabled")
    books.update_service(Service(name, disabled=False))
    window.says("aside .badge", "enabled")


def test_without_a_stream_it_asks_now_and_then(
    window: Window, books: GanttProtocol
) -> None:
    name = fleets.name(61)
    window.open(token=None)
    # As where a proxy lets no stream through.
    window.run(
        """const fetched = window.fetch;
        window.fetch = (url, about) => String(url).endsWith("/gantt/watch")
          ? Promise.resolve(new Response("{}", { status: 503 })) : fetched(url, about);
        location.hash = arguments[0];
""",
        f"#/fleet?host={name}",
    )
    window.wait("return document.getElementById('token')")
    window.driver.find_element("id", "token").send_keys("admin\n")
    window.wait("return document.querySelector('.live')?.dataset.state === 'polling'")
    window.wait(WHOLE)
    books.update_service(Service(name, disabled=True))
    window.says("aside .badge", "disabled")


def test_a_table_says_the_same_as_the_map(window: Window) -> None:
    window.open("#/fleet?view=table&sort=-use%3AVCPU")
    window.wait(
        "return document.querySelectorAll('table.long tbody button').length > 5"
    )
    assert window.run(
        "return document.querySelector('table.long').getAttribute('aria-rowcount')"
    ) == str(FEW + 1)
    heads = window.run(
        "return [...document.querySelectorAll('table.long th')].map((one) => "
        "[one.textContent, one.getAttribute('aria-sort')])"
    )
    assert ["VCPU used ↓", "descending"] in heads
    saved = window.await_(
        """let text = null;
        const { save } = await import("./ui/table.js");
        URL.createObjectURL = (blob) => { text = blob; return "blob:x"; };
        HTMLAnchorElement.prototype.click = () => {};
        const buttons = [...document.querySelectorAll("button")];
        buttons.find((one) => one.textContent === "CSV").click();
        return text.text();"""
    )
    lines = saved.splitlines()
    assert lines[0].startswith("Host,Zone,State,Instances,")
    assert len(lines) == FEW + 1
    column = lines[0].split(",").index("VCPU used")
    used = [
        int(line.rsplit(",", len(lines[0].split(",")) - column)[1])
        for line in lines[1:]
    ]
    assert used == sorted(used, reverse=True)


@pytest.mark.parametrize("shade", ["dark", "light"])
def test_narrow_screens_in_either_shade(
    chromium: Chromium, few: Live, shade: str
) -> None:
    with chromium.window(few.url, width=500, height=800) as window:
        window.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": shade}]},
        )
        window.open()
        window.wait(SHOWN)
        theme = "return document.documentElement.dataset.theme"
        assert window.run(theme) == shade
        width = "return document.documentElement.scrollWidth <= window.innerWidth"
        assert window.run(width)
        window.open(f"#/fleet?host={HOST}")
        window.wait(WHOLE)
        assert window.run(width)
        window.driver.find_element("css selector", "aside header button").click()
        window.click("button[title='Dark or light']")
        assert window.run(theme) != shade
        assert window.faults() == []


def test_everything_has_a_name(window: Window) -> None:
    """For those who listen: buttons, fields and pictures."""
    window.open(f"#/fleet?host={HOST}")
    window.wait(WHOLE)
    assert window.nameless() == []
    assert window.run("return document.documentElement.lang") == "en"
    assert window.count("h1") == 1


def test_under_a_mount_it_is_the_same(chromium: Chromium, few: Live) -> None:
    with chromium.window(f"{few.url}/placement") as window:
        window.open(f"#/fleet?host={HOST}")
        assert window.wait(SHOWN) == str(FEW)
        window.wait(WHOLE)
        paths = {one.split("/", 3)[3] for one in window.asked() if "/gantt/" in one}
        assert all(one.startswith("placement/") for one in paths)
        assert window.faults() == []


def test_a_service_that_comes_back_is_found_again(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("again")
    fleets.write(folder / "gantt.db", 40)
    url = f"sqlite:///{folder / 'gantt.db'}"
    live = start(url, folder / "serve.log")
    try:
        with chromium.window(live.url) as window:
            window.open()
            state = "return document.querySelector('.live').dataset.state === "
            assert window.wait(SHOWN) == "40"
            window.wait(state + "'live'")
            live.kill()
            window.wait(state + "'lost'")
            live = start(
                url, folder / "serve.log", port=int(live.url.rpartition(":")[2])
            )
            window.wait(state + "'live'")
    finally:
        live.kill()
