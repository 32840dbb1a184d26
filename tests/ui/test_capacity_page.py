"""The page Capacity, in a browser: what is used, by time and by zone, and what fits."""

from __future__ import annotations

import csv
import io
import math
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from gantt.cli.flavor import flavor
from gantt.model.capacity import By, Outlook
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import RequestSpec
from gantt.model.usage_history import MICROS, UsageRecord
from gantt.store import open_store
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.looking_glass import opened, serving
from tests.ui.tables import ROWS, SAVED

pytestmark = pytest.mark.server("chromium")

HOSTS = 60
ZONES = ("<script>alert(1)</script>", "\u202eevil\u202c", "l" * 255, "\U0001f525 fire")
HOUR = 3_600 * MICROS
SMALL, LARGE = "vcpus=2,memory_mb=4096,disk_gb=20", "vcpus=4000,memory_mb=1024"
ODD = "vcpus=1,name=<script>alert(3)</script>\u202e\U0001f525"
OTHER = "vcpus=2,memory_mb=1024"
LONG = "vcpus=1,name=" + "l" * 255
WRONG = "vcpus=1,<img>=2"
FITS = "How many more fit now"
SPLIT = "How many fit together, fairly split"
GROWN = {"MEMORY_MB": 500_000.0, "DISK_GB": 2_600.0}
"""By how much use grew in each hour."""
PART = 2
"""Of all use, in one zone."""
PATHS = """return Object.fromEntries(["most", "ahead", "likely"].map((name) =>
  [name, document.querySelector(`.chart .${name}`)?.getAttribute("d") ?? ""]))"""
CHART = "return document.querySelector('.chart svg')?.getAttribute('aria-label')"


def _start() -> int:
    """The hour before this one."""
    return time.time_ns() // 1000 // HOUR * HOUR - HOUR


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service whose zones and aggregates have hostile names, with a history."""
    folder = tmp_path_factory.mktemp("capacity")
    with serving(folder, HOSTS, zones=ZONES, furnish=write_history) as live:
        yield live


def write_history(database: str) -> None:
    """Of two zones: of VCPU with a gap, of others so much that room runs out."""
    store = open_store(database)
    with store.usage_rows() as rows:
        for hours in range(200):
            begin = _start() - hours * HOUR
            grown = max(0.0, 200 - hours + 20 * math.sin(hours / 9))
            found = [(name, 240 * by, (grown * by,) * 3) for name, by in GROWN.items()]
            if hours in (5, 4, 1, 0):  # of two hours between them nothing is known
                used = 100.0 - hours
                found.append(("VCPU", 200.0, (used - 1, used, used + 2)))
            records = [
                UsageRecord(
                    start=begin,
                    period_s=3_600,
                    resource_class=name,
                    samples=12,
                    capacity=capacity / part,
                    used_min=least / part,
                    used_avg=mean / part,
                    used_max=most / part,
                    zone=zone,
                )
                for zone, part in (("", 1), (ZONES[1], PART))
                for name, capacity, (least, mean, most) in found
            ]
            rows.replace(3_600, begin, records)
    store.close()


def outlook(books: GanttProtocol, name: str, zone: str = "") -> Outlook:
    """Of one class, as the terminal has it."""
    by: By = "zone" if zone else "fleet"
    found = books.runs_out(by=by).outlooks
    (one,) = (one for one in found if (one.name, one.where) == (name, zone))
    return one


def points(path: str) -> list[float]:
    """The numbers of a path, in order."""
    return [float(one) for one in re.findall(r"-?[\d.]+", path)]


def minute(at: int) -> str:
    return datetime.fromtimestamp(at / MICROS, UTC).strftime("%Y-%m-%d %H:%M")


def rows(
    window: Window, caption: str, known: list[list[str]] | None = None
) -> list[list[str]]:
    """The rows of a table, as soon as there are any, other than those ``known``."""
    found: list[list[str]] = window.wait(ROWS, caption, known)
    return found


def test_use_over_time_has_a_picture_and_words(window: Window) -> None:
    window.open("#/capacity")
    told = window.wait(CHART)
    assert told.startswith("VCPU over time. First ")
    assert "Fullest " in told and "Last " in told
    assert "100 of 200 used, 50 %" in told
    found = rows(window, "VCPU over time")
    assert [one[2:] for one in found] == [
        ["200", f"{99 - n}", f"{100 - n}", f"{102 - n}", f"{(100 - n) / 2:g}", "12"]
        for n in (0, 1, 4, 5)
    ]
    line = window.run("return document.querySelector('.chart .most').getAttribute('d')")
    assert line.count("M") == 2, "nothing is drawn where nothing is known"
    hover = window.count(".chart title")
    assert hover == len(found)


@pytest.mark.parametrize("zone", ["", ZONES[1]])
def test_a_band_reaches_the_capacity_when_room_runs_out(
    window: Window, books: GanttProtocol, zone: str
) -> None:
    opened(window, "capacity", **{"class": "MEMORY_MB", "zone": zone})
    told = window.wait(CHART)
    one = outlook(books, "MEMORY_MB", zone)
    dates = (one.lasts_until, one.likely_until, one.latest_until)
    lasts, likely, latest = (minute(at or 0) for at in dates)
    words = f"90 % until {lasts}, 50 % until {likely}, 10 % until {latest}"
    assert words in told, "what is read aloud"
    assert words in window.run("return document.querySelector('figcaption').innerText")
    drawn = window.run(PATHS)
    now, used, first, capacity, end = points(drawn["ahead"])
    assert drawn["ahead"].endswith("Z"), "it is closed"
    *_, top, _, until = points(drawn["most"])
    assert (capacity, end, until) == (top, until, 1000), "where capacity ends"
    assert used > capacity
    assert points(drawn["likely"])[:2] == [now, used], "both begin at the last use"
    hour = (end - now) / ((one.latest_until or 0) / HOUR - time.time_ns() / 1e3 / HOUR)
    for x, at in ((first, dates[0]), (points(drawn["likely"])[2], dates[1])):
        assert (end - x) / hour == pytest.approx(
            ((one.latest_until or 0) - (at or 0)) / HOUR, abs=0.5
        )


def test_a_band_stays_open_where_its_end_is_too_far(
    window: Window, books: GanttProtocol
) -> None:
    opened(window, "capacity", **{"class": "DISK_GB", "by": "zone"})
    told = window.wait(CHART)
    one = outlook(books, "DISK_GB")
    assert (one.state, one.latest_until) == ("forecast", None)
    assert f"50 % until {minute(one.likely_until or 0)}, 10 % until after " in told
    now, used, first, capacity, end, bottom = points(window.run(PATHS)["ahead"])
    assert now < first < end == 1000
    assert bottom == used > capacity, "as wide as there may be room"


def test_without_a_forecast_it_says_why(window: Window, books: GanttProtocol) -> None:
    window.open("#/capacity")
    assert outlook(books, "VCPU").state in window.wait(CHART)
    assert window.run(PATHS)["ahead"] == ""


def test_zones_now(window: Window, books: GanttProtocol) -> None:
    window.open("#/capacity")
    found = rows(window, "Zones now")
    vcpus = [one for one in found if one[1] == "VCPU"]
    assert sum(int(one[2]) for one in vcpus) == HOSTS
    own = [
        books.get_inventories(one.uuid).inventories["VCPU"]
        for one in books.list_providers()
        if one.parent_uuid is None
    ]
    assert sum(int(one[3].replace(",", "")) for one in vcpus) == sum(
        int((one.total - one.reserved) * one.allocation_ratio) for one in own
    )
    names = {one[0] for one in found}
    assert names == {"\\u202eevil\\u202c", *ZONES} - {ZONES[1]}, "what hides is escaped"


def test_as_many_more_fit_as_the_terminal_says(
    window: Window, books: GanttProtocol
) -> None:
    opened(window, "capacity", flavors=f"{SMALL} {LARGE} {WRONG}")
    small, large, wrong = rows(window, FITS)
    told = books.capacity(RequestSpec(flavor(SMALL)))
    assert small[:3] == [SMALL, f"{told.total:,}", str(len(told.hosts))]
    assert small[3] == ", ".join(f"{n} {hosts:,}" for n, hosts in told.limits.items())
    assert large[:3] == [LARGE, "0", "0"]
    assert wrong[0] == WRONG and "is not a field of a flavor" in wrong[3]
    where = rows(window, "Where")
    assert {one[0]: int(one[1].replace(",", "")) for one in where} == told.hosts
    change = books.capacity(RequestSpec(flavor(LARGE))).change
    assert change is not None
    assert change in window.run(
        "return document.querySelectorAll('details')[1].textContent"
    )


def test_flavors_together_and_until_when(window: Window, books: GanttProtocol) -> None:
    """As `gantt capacity --fair` and `--runs-out` have it, by zone."""
    opened(window, "capacity", flavors=f"{SMALL} {LARGE} {WRONG}", by="zone")
    specs = [RequestSpec(flavor(one)) for one in (SMALL, LARGE)]
    split = books.fair_split(specs, by="zone")
    found = rows(window, SPLIT)
    assert [one[1:5] for one in found] == [
        [share.flavor, "1", f"{share.more:,}", str(share.alone)]
        for one in split.splits
        for share in one.shares
    ]
    forecast = books.runs_out(specs, by="zone")
    ahead = rows(window, "Until when room lasts")
    assert [(one[1], one[2], one[4]) for one in ahead] == [
        (one.kind, one.name, one.state) for one in forecast.outlooks
    ]
    assert {one[0] for one in ahead} == {one[0] for one in rows(window, "Zones now")}
    head, *saved = csv.reader(io.StringIO(window.await_(SAVED, "Until when")))
    assert head[:5] == ["where", "kind", "name", "left", "state"]
    assert head[-1] == "ends by"
    assert [one[9] for one in ahead] == [one.ends_by for one in forecast.outlooks]
    assert len(saved) == len(ahead)


def test_flavors_are_weighed_as_the_address_says(
    window: Window, books: GanttProtocol
) -> None:
    opened(window, "capacity", flavors=f"3x{SMALL} {WRONG} {OTHER}")
    specs = [RequestSpec(flavor(one)) for one in (SMALL, OTHER)]
    (split,) = books.fair_split(specs, [3.0, 1.0]).splits
    assert [one[1:4] for one in rows(window, SPLIT)] == [
        [one.flavor, weight, f"{one.more:,}"]
        for weight, one in zip(("3", "1"), split.shares, strict=True)
    ]
    assert rows(window, FITS)[0][0] == SMALL
    equal = books.fair_split(specs).splits[0]
    assert [one.more for one in split.shares] != [one.more for one in equal.shares]


def test_what_is_shown_is_in_the_address(window: Window, books: GanttProtocol) -> None:
    opened(
        window, "capacity", **{"class": "MEMORY_MB", "zone": ZONES[1], "flavors": SMALL}
    )
    spec = RequestSpec(flavor(SMALL), availability_zone=ZONES[1])
    assert rows(window, FITS)[0][1] == f"{books.capacity(spec).total:,}"
    assert {one[0] for one in rows(window, "Zones now")} == {"\\u202eevil\\u202c"}
    window.run(
        """const [box] = document.querySelectorAll("[role=toolbar] select");
        box.value = "VCPU"; box.dispatchEvent(new Event("change"));"""
    )
    window.wait("return location.hash.includes('class=VCPU')")
    assert "zone=%E2%80%AEevil" in window.run("return location.hash")
    told = window.wait(CHART.replace("svg", "svg[aria-label^=VCPU]"))
    assert told.startswith("VCPU \\u202eevil\\u202c over time") and "50 of 100" in told


def test_flavors_with_hostile_names_are_text(window: Window) -> None:
    opened(window, "capacity", flavors=f"{ODD} {LONG}")
    odd, long = rows(window, FITS)
    assert odd[0] == ODD.replace("\u202e", "\\u202e")
    assert long[0] == LONG
    assert window.count("main script") == 0


def test_it_is_live(window: Window, books: GanttProtocol) -> None:
    window.open("#/capacity")
    before = rows(window, "Zones now")
    provider = next(
        one.uuid for one in books.list_providers() if one.name == fleets.name(20)
    )
    books.set_allocations([fleets.use(provider, 1, 7, 8)])
    assert rows(window, "Zones now", before) != before


def test_tables_are_saved_as_csv(window: Window) -> None:
    opened(window, "capacity", flavors=f"{SMALL} =1,vcpus=2")
    rows(window, FITS)
    saved = window.await_(SAVED, "How many")
    head, small, wrong = csv.reader(io.StringIO(saved))
    assert head[:3] == ["flavor", "more", "hosts"]
    assert small[0] == SMALL and int(small[1]) > 0
    assert wrong[0] == "'=1,vcpus=2", "not a formula"


def test_without_the_role_it_says_so(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url) as window:
        window.open("#/capacity", token="ann:blue")
        window.wait("return document.querySelectorAll('.part .note').length >= 2")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_screens_and_names(
    chromium: Chromium, service: Live, theme: str
) -> None:
    with chromium.window(service.url, width=500, height=800) as window:
        window.open("#/capacity", token=None)
        window.run("localStorage.setItem('gantt.theme', arguments[0])", theme)
        opened(window, "capacity", **{"class": "MEMORY_MB"})
        rows(window, FITS)
        assert window.run(
            """const [box, past, ahead] = ["svg", ".band", ".ahead"].map(
                 (name) => document.querySelector(`.chart ${name}`));
               return box.clientWidth > 250 && ahead.getBBox().width > 50
                 && getComputedStyle(ahead).fill !== getComputedStyle(past).fill;"""
        ), "there is room for the band, and it has a colour of its own"
        rows(window, "Zones now")
        assert window.is_narrow()
        assert [one for one in window.nameless() if 'class="bar' not in one] == []
        assert window.faults() == []
