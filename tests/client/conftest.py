"""Every implementation of GanttProtocol, for one suite."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from gantt.client.remote import RemoteGantt
from gantt.connection import connect
from gantt.model.protocol import GanttProtocol
from tests import inprocess

OTHER = "GANTT_TEST_PLACEMENT_URL"
KINDS = ["memory", "http", *(["other"] if os.environ.get(OTHER) else [])]


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Gantt's own WSGI application over books in memory."""
    with inprocess.service(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest) -> Callable[[], GanttProtocol]:
    """Opens the books of each kind."""
    if request.param == "memory":
        return lambda: connect("memory://")
    if request.param == "other":
        return lambda: RemoteGantt(os.environ[OTHER])
    url: str = request.getfixturevalue("service")
    return lambda: RemoteGantt(url)


@pytest.fixture
def books(opened: Callable[[], GanttProtocol]) -> Iterator[GanttProtocol]:
    """Books of each kind; those of a service are shared, so tests use new names."""
    found = opened()
    yield found
    found.close()
