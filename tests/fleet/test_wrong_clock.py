"""One of two machines with the service has a wrong clock, for real: hosts report to it,
and all is as ever, but that it says so."""

from __future__ import annotations

import time
import urllib.request
from pathlib import Path

import pytest

from gantt.cli.main import gantt as cli
from tests import live
from tests.cli.conftest import Program
from tests.databases import Databases
from tests.fleet.fleet import FLAVOR, HOSTS, fleet
from tests.wrong_clock import environ

pytestmark = [pytest.mark.slow, pytest.mark.server("compiler")]
DOWN_S = 6
BEHIND_S = 360
SETTINGS = f"[DEFAULT]\nservice_down_time = {DOWN_S}\n"


def test_a_service_whose_clock_is_behind_takes_no_host_down(
    databases: Databases, tmp_path: Path
) -> None:
    wrong = environ(tmp_path, -BEHIND_S)
    with (
        databases.database("postgresql") as url,
        fleet(tmp_path, SETTINGS, database=url, environ=wrong) as two,
    ):
        settings = ("--config-file", str(tmp_path / "gantt.conf"))
        other = live.start(url, tmp_path / "other.log", options=settings)
        try:
            two.reaches(
                lambda: all("agent" in two.host(host).service for host in HOSTS),
                tell="no agent was noticed",
            )
            # After a start, a host that is silent goes down after twice that time.
            time.sleep(3 * DOWN_S)
            assert {two.state(host) for host in HOSTS} == {"enabled"}
            assert "refused" not in two.logs()
            for service in (two.service, other):
                assert Program(cli, service.url).ask("select", "--flavor", FLAVOR)
            told = f"the clock of this machine is {BEHIND_S} s behind the database's"
            assert told in ready(two.service)
            assert told in two.service.log.read_text()
            assert "clock" not in ready(other)
        finally:
            other.kill()


def ready(service: live.Live) -> str:
    with urllib.request.urlopen(f"{service.url}/readyz", timeout=10) as answer:
        return str(answer.read().decode())
