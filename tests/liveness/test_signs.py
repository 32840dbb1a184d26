"""What the books, the doors and the command line make of memberships."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.cli.host import _state
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.memberships import statement
from gantt.model.fleet import FleetStatement, Verdict
from gantt.model.hosts import HostStats, Service

NOW = 1_700_000_000_000_000


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as found:
        for host in ("a", "b"):
            found.update_host(host, host, HostStats(vcpus=4, memory_mb=64))
        tell(found, Verdict(("a", "b"), (), False))
        yield found


def tell(books: Gantt, verdict: Verdict, *, was_frozen: bool = False) -> None:
    services = statement(verdict, was_frozen=was_frozen, now=NOW)
    assert books.set_fleet(FleetStatement(services=services)) == ()


def states(books: Gantt) -> dict[str, str]:
    return {one.host: _state(one) for one in books.list_hosts()}


def test_a_host_without_its_agent_is_down_and_says_so(books: Gantt) -> None:
    assert states(books) == {"a": "enabled", "b": "enabled"}
    tell(books, Verdict((), ("b",), False))
    assert states(books) == {"a": "enabled", "b": "agent down"}
    assert books.totals()[1]["down"] == 1
    assert books.verify().problems == ()
    tell(books, Verdict(("b",), (), False))
    assert books.totals()[1]["down"] == 0


def test_what_nova_forced_down_stays_down_with_an_agent(books: Gantt) -> None:
    books.update_service(Service("a", forced_down=True))
    tell(books, Verdict((), ("a",), False))
    tell(books, Verdict(("a",), (), False))
    assert books.totals()[1]["down"] == 1
    books.update_service(Service("a", forced_down=False))
    assert books.totals()[1]["down"] == 0


def test_a_host_that_is_registered_later_is_down_by_its_agent(books: Gantt) -> None:
    tell(books, Verdict(("c",), (), False))
    tell(books, Verdict((), ("c",), False))
    books.update_host("c", "c", HostStats(vcpus=4, memory_mb=64))
    assert states(books)["c"] == "agent down"
    assert books.totals()[1]["down"] == 1


def test_frozen_liveness_is_told_and_takes_nothing_down(books: Gantt) -> None:
    assert (books.notice(), books.keeping_up()["liveness_frozen"]) == ("", False)
    tell(books, Verdict(is_frozen=True))
    assert "liveness is frozen" in books.notice()
    assert books.keeping_up()["liveness_frozen"]
    assert states(books) == {"a": "enabled, last known", "b": "enabled, last known"}
    assert books.totals()[1]["down"] == 0
    tell(books, Verdict(is_frozen=False), was_frozen=True)
    assert books.notice() == ""
