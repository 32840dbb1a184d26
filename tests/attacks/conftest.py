"""One service for all attacks, and its response times when idle."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks import beside
from tests.attacks.attackers import allow_open_files
from tests.attacks.beside import IDLE_S, Beside
from tests.attacks.service import Service, attacked, fill

# Connections of the largest attack, and the files of a service beside them.
OPEN_FILES = 10_000 + 1_000


@pytest.fixture(autouse=True)
def one_at_a_time(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An attack must not be measured beside that of another worker of this run."""
    path = tmp_path_factory.getbasetemp().parent / "attacks.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a fleet, to be copied."""
    path = tmp_path_factory.mktemp("fleet") / "gantt.db"
    fill(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def service(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    allow_open_files(OPEN_FILES)
    with attacked(tmp_path_factory.mktemp("attacked"), fleet=fleet) as found:
        yield found


@pytest.fixture(scope="module")
def idle(service: Service) -> Beside:
    """What callers see of the idle service, after it has warmed up."""
    beside.measure(service, 0.5)
    found = beside.measure(service, IDLE_S)
    assert not any(seen.failures for seen in found.values()), found
    return found
