"""Advice while the database of Gantt is killed beneath it, and once it is back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from gantt.connection import open_gantt
from gantt.engine.options import EngineOptions
from gantt.errors import StoreFailed
from gantt.model.advice import Advice, AdviceHost, AdviceRequest, Mode
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec
from tests.databases import SERVERS, DatabaseServer
from tests.kinds import SERVER_KINDS
from tests.openstack import fleet
from tests.waiting import until

SPEC = RequestSpec(Flavor(vcpus=1, memory_mb=512, root_gb=1))
LIMIT_S = 2.0


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    """One that may be killed."""
    with closing(SERVERS[request.param]()) as found:
        yield found


@pytest.mark.parametrize("server", SERVER_KINDS, indirect=True)
def test_answers_stand_while_the_database_is_dead(server: DatabaseServer) -> None:
    hosts = tuple(AdviceHost(name, name) for name in ("full", "elsewhere", "free"))
    options = EngineOptions(poll_ms=100)  # as a service has it
    with closing(open_gantt(server.new(), options)) as gantt:
        fleet.add_hosts(gantt, "full", vcpus=0)
        fleet.add_hosts(gantt, "free", vcpus=8)

        def ask(mode: Mode = "advise") -> Advice:
            began = time.monotonic()
            found = gantt.advise(AdviceRequest(SPEC, hosts, mode=mode))
            assert time.monotonic() - began < LIMIT_S
            assert found.decided
            assert [one.host for one in found.hosts] == ["free", "full", "elsewhere"]
            return found

        def refused(mode: Mode) -> list[str]:
            return [one.host for one in ask(mode).hosts if one.refused_by]

        assert refused("advise") == refused("decide") == ["full"]
        for _ in range(2):
            server.kill()
            for _ in range(5):
                assert refused("advise") == ["full"]
            with pytest.raises(StoreFailed):
                gantt.create_trait("CUSTOM_A")
            # What others have written since is not known, so that none is dropped.
            until(lambda: refused("decide") == [])
            server.start()
            until(lambda: writes(gantt))
            until(lambda: refused("decide") == ["full"])


def writes(gantt: GanttProtocol) -> bool:
    """Whether a write succeeds."""
    try:
        gantt.create_trait("CUSTOM_A")
    except StoreFailed:
        return False
    return True
