"""A backup is restored under two services that run: neither answers from before it.

SQLite's own backup writes into the file that they have open, as an operator would.
"""

from __future__ import annotations

import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import Live, start
from tests.waiting import until

SAID_S = 10.0

pytestmark = pytest.mark.slow


@pytest.fixture
def services(tmp_path: Path) -> Iterator[list[Live]]:
    """Two processes on one file."""
    url = f"sqlite:///{tmp_path / 'books.db'}"
    running: list[Live] = []
    try:
        for number in range(2):
            running.append(start(url, tmp_path / f"serve-{number}.log"))
        yield running
    finally:
        for each in running:
            each.kill()


def ask(live: Live, method: str, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        live.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "X-Auth-Token": "admin",
            "Content-Type": "application/json",
            "OpenStack-API-Version": "placement 1.39",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def names(live: Live) -> set[str]:
    found = ask(live, "GET", "/resource_providers")
    return {each["name"] for each in found["resource_providers"]}


def create(live: Live, *given: str) -> None:
    for name in given:
        ask(live, "POST", "/resource_providers", {"name": name})


def copy(source: Path, target: Path) -> None:
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()


def test_every_process_detects_a_restored_backup(
    services: list[Live], tmp_path: Path
) -> None:
    books, backup = tmp_path / "books.db", tmp_path / "backup.db"
    one, two = services
    known: set[str] = set()
    # So many writes through one process before the other looks: the log is then
    # shorter than the other knows it, as long, or longer.
    for later in range(4):
        copy(books, backup)
        create(one, "lost-0", "lost-1")
        assert names(one) == names(two) == {*known, "lost-0", "lost-1"}
        copy(backup, books)
        new = [f"new-{later}-{number}" for number in range(later)]
        create(one, *new)
        known |= {*new, f"after-{later}"}
        assert names(two) == names(one) == known - {f"after-{later}"}
        create(two, f"after-{later}")
        assert names(one) == names(two) == known
        for each in services:
            must_say(each, "the log does not continue revision", later + 1)


def must_say(live: Live, text: str, times: int) -> None:
    """What a service writes reaches its log in its own time."""
    until(lambda: live.log.read_text().count(text) >= times, SAID_S, live.log.read_text)
