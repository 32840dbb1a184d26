"""``gantt scheduler`` in place of nova-scheduler, as operators meet it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cloud.books import Books
from tests.cloud.cloud import SIZES
from tests.cloud.processes import Program, run, wait_until
from tests.cloud.schedulers import Replaced, Setup
from tests.cloud.tenant import IMPOSSIBLE, SETTLE_S, Tenant

SETUPS = frozenset({"gantt"})
OPENSTACK = str(Path(sys.executable).with_name("openstack"))
BURST = 20


@pytest.fixture
def replaced(setup: Setup) -> Replaced:
    assert isinstance(setup, Replaced)
    return setup


@contextmanager
def second(replaced: Replaced) -> Iterator[Program]:
    """Another scheduler on the topic, of another host."""
    found = replaced.start_scheduler("second", "controller2")
    replaced.wait_for_consumers(2)
    try:
        yield found
    finally:
        replaced.cloud.programs.pop("second").kill()
        replaced.wait_for_consumers(1)


def services(replaced: Replaced) -> dict[str, str]:
    """Host -> state of each scheduler, as the command line lists them."""
    given = {
        f"OS_{name.upper()}": value
        for name, value in replaced.cloud.credentials().items()
    }
    said = run(
        OPENSTACK,
        "compute",
        "service",
        "list",
        "--service",
        "nova-scheduler",
        "-f",
        "value",
        "-c",
        "Host",
        "-c",
        "State",
        environ={**given, "OS_IDENTITY_API_VERSION": "3", "PYTHONWARNINGS": "ignore"},
    )
    rows = [line.split() for line in said.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def test_it_is_listed_among_novas_services(replaced: Replaced) -> None:
    wait_until(
        lambda: services(replaced).get("controller") == "up", "it is listed as up"
    )


def test_a_tenant_reads_what_nova_would_say(tenant: Tenant) -> None:
    failed = tenant.wait_for(tenant.ask(IMPOSSIBLE), "ERROR")
    assert failed.fault["code"] == 500
    assert failed.fault["message"].startswith("No valid host was found.")


def test_an_operator_reads_why(replaced: Replaced, tenant: Tenant) -> None:
    server = tenant.ask(IMPOSSIBLE)
    tenant.wait_for(server, "ERROR")
    command = (
        sys.executable,
        "-m",
        "gantt",
        "explain",
        server,
        "--url",
        replaced.cloud.settings.databases["placement"],
    )
    # Records are written behind the answer.
    wait_until(
        lambda: "VCPU" in run(*command, passes=False),
        f"the record of {server}",
        within_s=SETTLE_S,
    )


def test_a_drain_loses_no_call(
    replaced: Replaced, tenant: Tenant, books: Books
) -> None:
    with second(replaced) as other:
        servers = [tenant.ask() for _ in range(BURST // 2)]
        assert other.stop() == 0
        servers += [tenant.ask() for _ in range(BURST // 2)]
        tenant.running(servers)
    books.check()
    assert len(books.allocations()) == BURST


def test_two_schedulers_share_a_burst(
    replaced: Replaced, tenant: Tenant, books: Books
) -> None:
    with second(replaced) as other:
        wait_until(
            lambda: services(replaced).get("controller2") == "up", "both are listed"
        )
        first = replaced.cloud.programs["scheduler"]
        before = [decided(one) for one in (first, other)]
        tenant.running([tenant.ask() for _ in range(BURST)])
        after = [decided(one) for one in (first, other)]
    shares = [late - early for early, late in zip(before, after, strict=True)]
    assert sum(shares) == BURST
    assert min(shares) > 0
    books.check()
    used: dict[str, int] = {}
    for server in tenant.compute.servers():
        used[server.compute_host] = used.get(server.compute_host, 0) + 1
    assert all(count <= SIZES[host].vcpus for host, count in used.items())


def decided(scheduler: Program) -> int:
    """Decisions that it has logged."""
    return len(re.findall(r": 1 instance \(.* on ", scheduler.log.read_text()))
