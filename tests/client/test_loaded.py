"""Over HTTP no numpy, SQLAlchemy or engine is loaded; for books in memory it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import inprocess
from tests.loaded import HEAVY, heavy, modules_after

SELECTS = """
import sys
from gantt import Flavor, RequestSpec, SchedulerClient

host = {"vcpus": 4, "memory_mb": 4096, "local_gb": 100}
with SchedulerClient(sys.argv[1]) as client:
    client.update_resource_stats(None, ("loaded", "loaded"), host)
    client.capacity(Flavor(1, 512, 1))
    client.select_destinations(None, RequestSpec(Flavor(1, 512, 1)))
"""
BOOKS = """
import sys
import gantt

with gantt.connect(sys.argv[1]) as books:
    host = books.create_provider("the books of one that loads little")
    books.set_inventories(host.uuid, {"VCPU": gantt.Inventory(total=16)})
    group = gantt.RequestGroup(resources={"VCPU": 1})
    books.find_candidates(gantt.CandidateRequest((group,)))
"""


@pytest.mark.parametrize("code", [SELECTS, BOOKS], ids=["SchedulerClient", "connect"])
def test_a_client_over_http_loads_no_engine(tmp_path: Path, code: str) -> None:
    with inprocess.service(tmp_path) as url:
        assert heavy(modules_after(code, url)) == []


@pytest.mark.parametrize("code", [SELECTS, BOOKS], ids=["SchedulerClient", "connect"])
def test_books_in_memory_load_an_engine(code: str) -> None:
    loaded = modules_after(code, "memory://")
    assert loaded >= HEAVY - {"sqlalchemy"}


def test_options_may_be_left_out_or_none() -> None:
    code = (
        "import gantt\n"
        "for options in ({}, {'options': None}, {'options': gantt.EngineOptions()}):\n"
        "    gantt.connect('memory://', **options).close()\n"
        "    gantt.connect('http://127.0.0.1:1', **options).close()\n"
    )
    assert "gantt.engine.gantt" in modules_after(code)
