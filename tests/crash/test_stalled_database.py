"""A server that stands still, and refuses nothing: who asks it must not be waited for
by all the rest."""

from __future__ import annotations

import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.engine.options import EngineOptions
from tests.databases import Databases, DatabaseServer
from tests.kinds import SERVER_KINDS
from tests.live import Live, start

CONFIG = """
[gantt]
blocking_threads = 8
"""
READERS = 16
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}


@pytest.fixture(params=SERVER_KINDS)
def server(
    request: pytest.FixtureRequest, databases: Databases
) -> Iterator[DatabaseServer]:
    found = databases.server(request.param)
    yield found
    found.go_on()


@pytest.fixture
def live(server: DatabaseServer, tmp_path: Path) -> Iterator[Live]:
    config, url = tmp_path / "gantt.conf", server.new()
    config.write_text(CONFIG)
    options = ("--auth", "noauth2", "--config-file", str(config))
    started = start(url, tmp_path / "log", options=options)
    yield started
    server.go_on()
    started.kill()
    server.drop(url)


def get(live: Live, path: str, within_s: float = 30.0) -> tuple[int, str]:
    request = urllib.request.Request(live.url + path, headers=HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=within_s) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(live: Live, name: str) -> float:
    status, text = get(live, "/metrics", 2)
    assert status == 200
    found = re.search(rf"^gantt_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    assert found, text
    return float(found[1])


def test_process_survives_a_stalled_database(
    live: Live, server: DatabaseServer
) -> None:
    heard: list[int] = []

    def read() -> None:
        heard.append(get(live, "/resource_classes")[0])

    server.stand_still()
    readers = [threading.Thread(target=read, daemon=True) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    time.sleep(EngineOptions().wait_s + 0.5)
    before = metric(live, "database_silence_seconds")
    assert get(live, "/livez", 1)[0] == 200
    assert get(live, "/readyz", 2)[0] == 503
    assert get(live, "/healthcheck", 2)[0] == 503
    assert metric(live, "database_silence_seconds") > before > 0.5
    assert metric(live, "reads_turned_away_total") >= READERS / 2
    server.go_on()
    for reader in readers:
        reader.join(20)
    assert set(heard) == {200, 503}
    assert len(heard) == READERS
    assert get(live, "/resource_providers")[0] == 200
    assert get(live, "/readyz")[0] == 200
    assert metric(live, "database_silence_seconds") < 1
