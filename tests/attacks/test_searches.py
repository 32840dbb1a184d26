"""Unlimited searches and decisions for many instances take processor time, but do not
delay small reads, claims and health."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gantt.engine.factory import open_gantt
from tests.attacks import beside
from tests.attacks.beside import BUSY_MEDIAN, BUSY_WORST, Beside, check_attack
from tests.attacks.service import ADMIN, Service, attacked
from tests.engine.test_scheduling import report

SEARCHES = 32
REFUSALS, HOSTS = 8, 4_000
ATTACKED_S = 6.0
# As multiples of the idle service; a whole refusal of a thousand instances is several
# times as long.
REFUSED_WORST = 40
# Of the searches themselves, each of some MB.
MORE_MB = 400


def test_unlimited_searches_do_not_delay_small_requests(
    service: Service, idle: Beside
) -> None:
    limits = {"median": BUSY_MEDIAN, "worst": BUSY_WORST, "most_mb": MORE_MB}
    check_attack(service, idle, "searches", SEARCHES, ADMIN, ATTACKED_S, **limits)


@pytest.fixture(scope="module")
def hosted(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose fleet has hosts too."""
    folder = tmp_path_factory.mktemp("hosted")
    books = folder / "hosts.db"
    shutil.copy(fleet, books)
    with open_gantt(f"sqlite:///{books}") as engine, ThreadPoolExecutor(64) as pool:
        names = (f"node-{number}" for number in range(HOSTS))
        list(pool.map(lambda name: report(engine, name), names))
    with attacked(folder, fleet=books) as found:
        yield found


def test_refusals_of_many_do_not_delay_small_requests(hosted: Service) -> None:
    beside.measure(hosted, 0.5)
    idle = beside.measure(hosted, 2.0)
    limits = {"median": BUSY_MEDIAN, "worst": REFUSED_WORST, "most_mb": MORE_MB}
    check_attack(hosted, idle, "refusals", REFUSALS, ADMIN, ATTACKED_S, **limits)
