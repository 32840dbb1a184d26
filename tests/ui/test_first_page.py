"""Five troubles of a fleet are found and named from the first page, each by its link;
and a member of a project sees there what a member may."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import Live, start
from tests.ui.browser import Chromium, Window
from tests.ui.planted import (
    DOWN,
    FULL,
    HOSTS,
    LICENCE,
    OFF,
    ORPHAN,
    SILENT,
    TRAIT,
    planted,
)

pytestmark = pytest.mark.server("chromium")

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
MOST_S = 60.0
READ = "return document.querySelector('main').innerText.includes(arguments[0])"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with planted(tmp_path_factory.mktemp("planted")) as live:
        yield live


def test_each_trouble_is_named_and_leads_to_more(window: Window) -> None:
    window.open()
    begun = time.monotonic()
    window.driver.refresh()
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
    took = time.monotonic() - begun
    print(f"{len(TROUBLES)} found and followed in {took:.1f} s")
    assert took <= MOST_S


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
