"""The examples in the help of what serves beside Nova, typed as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gantt.store import schema
from tests import inprocess
from tests.cli.examples import OF_A_CLOUD, lines
from tests.openstack.feed.conftest import Cloud
from tests.openstack.processes import Scheduler

NOVA = """
[DEFAULT]
transport_url = fake://
[api_database]
connection = {api}
[placement_database]
connection = {books}
"""
# What each says once it does its work.
SAID = {
    "gantt feed": "Feeding",
    "gantt scheduler": "Serving as scheduler",
    "gantt shadow listen": "Listening for scheduler.select_destinations",
}


@pytest.mark.parametrize("path", OF_A_CLOUD)
def test_an_example_serves_until_it_is_told_to_end(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    cloud.cell("one").host("h1")
    books, config = f"sqlite:///{tmp_path}/books.db", tmp_path / "nova.conf"
    schema.sync(books)
    config.write_text(NOVA.format(api=cloud.api.url, books=books))
    (line,) = lines(path)
    assert line.startswith(f"{path} --config-file /etc/nova/nova.conf")
    _, *words = shlex.split(line.replace("/etc/nova/nova.conf", str(config)))
    with inprocess.service(tmp_path) as url:
        monkeypatch.setenv("GANTT_URL", url)
        running = Scheduler.running(words, tmp_path / "log")
        try:
            running.wait_for(SAID[path])
            assert running.stop() == 0, running.text
        finally:
            running.kill()
