"""Every build goes on, whatever happens to the Gantt that Nova's scheduler asks."""

from __future__ import annotations

import signal

import pytest

from tests.cloud.books import Books
from tests.cloud.processes import wait_until
from tests.cloud.schedulers import Advised, Setup
from tests.cloud.tenant import SETTLE_S, Tenant

SETUPS = frozenset({"advise", "decide"})
BURST = 24
ADVISED = "POST /gantt/advise"


@pytest.fixture
def advised(setup: Setup) -> Advised:
    assert isinstance(setup, Advised)
    return setup


def asked(advised: Advised) -> int:
    """How often the adviser was asked, by its log."""
    return advised.cloud.programs["adviser"].log.read_text().count(ADVISED)


def test_gantt_is_asked_for_each_server(advised: Advised, tenant: Tenant) -> None:
    # Only in ``decide`` by the filter, in both by the weigher.
    wanted = 2 if advised.name == "decide" else 1

    def is_asked() -> bool:
        before = asked(advised)
        tenant.boot()
        return asked(advised) == before + wanted

    # On a busy machine the plug-in may run out of its time, which is short.
    wait_until(is_asked, f"{wanted} calls for one boot", within_s=SETTLE_S)


def test_no_build_fails_when_gantt_is_killed(
    advised: Advised, tenant: Tenant, books: Books
) -> None:
    before = asked(advised)
    servers = [tenant.ask() for _ in range(BURST // 3)]
    tenant.wait_for(servers[0], "ACTIVE")
    advised.cloud.programs["adviser"].kill()
    servers += [tenant.ask() for _ in range(BURST - len(servers))]
    try:
        tenant.running(servers)
    finally:
        advised.start_adviser()
    assert asked(advised) > before
    books.check()
    assert len(books.allocations()) == BURST


def test_no_build_fails_when_gantt_stands_still(
    advised: Advised, tenant: Tenant, books: Books
) -> None:
    adviser = advised.cloud.programs["adviser"]
    servers = [tenant.ask() for _ in range(BURST // 3)]
    tenant.wait_for(servers[0], "ACTIVE")
    adviser.send(signal.SIGSTOP)
    try:
        servers += [tenant.ask() for _ in range(BURST - len(servers))]
        tenant.running(servers)
    finally:
        adviser.send(signal.SIGCONT)
    books.check()
    assert len(books.allocations()) == BURST
