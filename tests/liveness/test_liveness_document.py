"""docs/how-to/liveness.md, held to what the books do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.fleet import AGENT, LIVENESS
from gantt.model.hosts import HostStats, Service
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.api.native.fleet import client_of

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "liveness.md").read_text(
    encoding="utf-8"
)
REMOVE, CLEAR = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
INSTANCE = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def books() -> Iterator[Gantt]:
    """Of one host, whose agent left the group."""
    found = gantt.connect("memory://")
    assert isinstance(found, Gantt)
    found.update_host("host-1", None, HostStats(vcpus=4, memory_mb=1024))
    found.update_service(Service("host-1", AGENT, forced_down=True))
    assert not is_up(found)
    yield found
    found.close()


def is_up(books: Gantt) -> bool:
    """Whether the host gets an instance."""
    spec = RequestSpec(Flavor(vcpus=1, memory_mb=64))
    try:
        books.schedule(ScheduleRequest(spec, (INSTANCE,), dry_run=True))
    except NoValidHost:
        return False
    return True


def test_a_host_is_taken_out_of_the_group(books: Gantt) -> None:
    exec(REMOVE, {"books": books})
    assert is_up(books)
    (view,) = books.list_hosts()
    assert "agent" not in view.service


def test_a_host_is_taken_out_of_the_group_over_http(books: Gantt) -> None:
    (path,) = re.findall(r"`DELETE (/\S+)`", TEXT)
    assert client_of(books)("DELETE", path).status == 204
    assert is_up(books)


def test_what_the_group_said_stands_until_it_is_deleted(books: Gantt) -> None:
    """There is no ``backend_url`` here."""
    books.update_service(
        Service(LIVENESS, LIVENESS, forced_down=True, last_seen_up=1_000_000)
    )
    assert "liveness is frozen" in books.notice()
    exec(CLEAR, {"books": books})
    assert is_up(books) and books.notice() == ""
