"""Five troubles of a fleet are found and named from the first page, each by its link;
and a member of a project sees there what a member may."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.fleet import OPERATOR
from gantt.model.hosts import Service
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.store import open_store
from gantt.store.interface import StoreOptions
from scripts.demo_fleet import PastClock
from tests.idle_host import idle
from tests.live import Live, start
from tests.reported import report_of
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.looking_glass import served

pytestmark = pytest.mark.server("chromium")

HOUR = 3_600_000_000
HOSTS = [f"rack-{number:02}" for number in range(10)]
FULL, DOWN, SILENT, ORPHANED, OFF = HOSTS[0], HOSTS[5], HOSTS[7], HOSTS[3], HOSTS[8]
ORPHAN = fleets.uuid(8, 77)
TRAIT = "CUSTOM_FPGA"
LICENCE = "CUSTOM_LICENCE"
# What the first page says -> what the page behind it says of that very thing.
TROUBLES = {
    f"{LICENCE} is full: 100 % used": ("capacity", LICENCE),
    f"{DOWN} is down for N min, forced down by hand; 1 instance": ("fleet", DOWN),
    f"{SILENT} is silent for 2 h, no report of its agent; 1 instance": (
        "fleet",
        SILENT,
    ),
    f"6 of 7 requests refused within the hour, 6 for trait {TRAIT}": (
        "decisions",
        TRAIT,
    ),
    "The audit found 1 × allocations without an instance": ("health", ORPHAN),
    f"{OFF} is disabled for N min, an operator (gantt host disable): fan; 1 instance": (
        "fleet",
        OFF,
    ),
    "The audit compared 9 of 10 hosts: 1 old list": ("health", "9 of 10 hosts"),
}
LINKS = """return Object.fromEntries([...document.querySelectorAll(".wrongs li a")].map(
  (one) => [one.textContent, one.hash]))"""
AGES = """return [...document.querySelectorAll("time")].map(
  (one) => [one.textContent, one.title])"""
WHOLE_NAMES = """return [...document.querySelectorAll(".long tbody button")].filter(
  (one) => one.scrollWidth <= one.parentElement.clientWidth).map(
  (one) => one.textContent)"""
READ = "return document.querySelector('main').innerText.includes(arguments[0])"


class Planted:
    """Ten hosts, with an instance each, of the last two hours."""

    def __init__(self, books: Gantt, clock: PastClock) -> None:
        self._books, self._clock = books, clock

    def report(self, sequence: int, hosts: list[str]) -> None:
        for host in hosts:
            names = (fleets.uuid(7, HOSTS.index(host)),)
            said = idle(8, 16_384, instances=names, lists_instances=True)
            one = report_of(host, sequence, said, taken_at=self._clock.at)
            (outcome,) = self._books.report_hosts([one])
            assert outcome.outcome == "applied", outcome

    def claim(self, host: str, consumer: str, name: str, amount: int) -> None:
        (view,) = self._books.list_hosts(host=host)
        given = {view.provider_uuid or "": {name: amount}}
        one = ConsumerAllocations(consumer, given, "p", "u", UNSET, "INSTANCE")
        self._books.set_allocations([one])

    def plant(self) -> None:
        books, clock = self._books, self._clock
        self.report(1, HOSTS)
        (view,) = books.list_hosts(host=FULL)
        books.create_resource_class(LICENCE)
        books.set_inventory(view.provider_uuid or "", LICENCE, Inventory(total=8))
        for number, host in enumerate(HOSTS):
            name, amount = (LICENCE, 8) if host == FULL else ("VCPU", 1)
            self.claim(host, fleets.uuid(7, number), name, amount)
        self.claim(ORPHANED, ORPHAN, "VCPU", 1)
        clock.at += 80 * HOUR // 60
        books.update_service(Service(DOWN, forced_down=True))
        word = Service(OFF, OPERATOR, disabled=True, disabled_reason="fan")
        books.update_service(word)
        books.create_trait(TRAIT)
        clock.at += 30 * HOUR // 60
        needs = {f"trait:{TRAIT}": "required"}
        gpu = Flavor(1, 64, 1, name="fpga", extra_specs=needs)
        for number, flavor in enumerate([gpu] * 6 + [replace(gpu, extra_specs={})]):
            request = ScheduleRequest(
                RequestSpec(flavor, project_id="p"), request_id=f"req-{number}"
            )
            with suppress(NoValidHost):
                books.schedule(request)
        clock.at += 10 * HOUR // 60
        self.report(2, [one for one in HOSTS if one != SILENT])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    file = tmp_path_factory.mktemp("planted") / "gantt.db"
    clock = PastClock(time.time_ns() // 1000 - 2 * HOUR)
    store = open_store(f"sqlite:///{file}", StoreOptions(create=True))
    with Gantt(store, clock=clock, standard_names=standard_names()) as books:
        Planted(books, clock).plant()
    with served(file) as live:
        yield live


def test_each_trouble_is_named_and_leads_to_more(window: Window) -> None:
    window.open()
    window.wait(
        "return document.querySelectorAll('.wrongs li a').length >= arguments[0]",
        len(TROUBLES),
    )
    found: dict[str, str] = window.run(LINKS)
    links = {re.sub(r"for \d+ min", "for N min", one): to for one, to in found.items()}
    assert set(links) == set(TROUBLES)
    for told, (page, more) in TROUBLES.items():
        assert links[told].startswith(f"#/{page}")
        window.run("location.hash = arguments[0]", links[told])
        window.wait(READ, more)
        window.run("location.hash = '#/fleet'")
        window.wait("return document.querySelectorAll('.wrongs li a').length > 3")


def test_what_changed_within_the_hour_is_told(window: Window) -> None:
    window.open("#/health")
    for told in (DOWN, "disabled, fan", f"trait {TRAIT}", "1 placed, 6 refused"):
        window.wait(READ, told)
    ages = window.run(AGES)
    assert ages
    assert all(re.match(r"\d+ \w+ ago", text) and title for text, title in ages)


def test_a_member_sees_what_a_member_may(
    chromium: Chromium, service: Live, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("reads: {user: ann, project: p, roles: [reader]}\n")
    tokens.chmod(0o600)
    config = tmp_path / "gantt.conf"
    config.write_text(
        f"[api]\nauth_strategy = token\n[gantt]\ntokens_file = {tokens}\n"
    )
    live = start(
        service.database, tmp_path / "log", options=("--config-file", str(config))
    )
    try:
        with chromium.window(live.url) as window:
            window.open(token="reads")
            window.wait(READ, "What project p uses")
            window.wait(READ, "6 of its latest 7 requests were refused")
    finally:
        live.kill()


def test_a_phone_shows_names(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url) as window:
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        window.open()
        for host in (FULL, DOWN):
            window.wait(READ, host)
        assert window.is_narrow()
        assert window.wait(WHOLE_NAMES)[:3] == HOSTS[:3]
        assert window.faults() == []
