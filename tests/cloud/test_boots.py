"""Servers are made and deleted, one by one and many at once."""

from __future__ import annotations

from tests.cloud.books import Books
from tests.cloud.cloud import SIZES
from tests.cloud.processes import wait_until
from tests.cloud.tenant import IMPOSSIBLE, LARGEST, MEDIUM, SETTLE_S, Tenant

BURST = 12


def test_a_server_runs_and_its_end_frees_what_it_had(
    tenant: Tenant, books: Books
) -> None:
    server = tenant.boot()
    assert tenant.host(server) in SIZES
    assert list(books.allocations()) == [server]
    tenant.delete(server)
    assert not books.allocations()


def test_a_server_that_fits_one_host_goes_there(tenant: Tenant) -> None:
    assert tenant.host(tenant.boot(LARGEST)) == "host4"


def test_a_second_one_is_refused_for_lack_of_a_host(tenant: Tenant) -> None:
    tenant.boot(LARGEST)
    for shape in (LARGEST, IMPOSSIBLE):
        failed = tenant.wait_for(tenant.ask(shape), "ERROR")
        assert "No valid host" in failed.fault["message"]
        assert failed.compute_host is None


def test_a_disabled_host_gets_nothing(tenant: Tenant) -> None:
    with tenant.disabled("host4"):
        failed = tenant.wait_for(tenant.ask(LARGEST), "ERROR")
    assert "No valid host" in failed.fault["message"]
    # Gantt in place of nova-scheduler learns of it with the next round of its feed.
    wait_until(
        lambda: tenant.try_to_boot(LARGEST) == "host4",
        "a server on the host that was disabled",
        within_s=SETTLE_S,
    )


def test_many_in_one_request_run(tenant: Tenant) -> None:
    servers = tenant.together(6, MEDIUM)
    hosts = [tenant.host(server) for server in servers]
    used = {host: 2 * hosts.count(host) for host in set(hosts)}
    assert all(vcpus <= SIZES[host].vcpus for host, vcpus in used.items())


def test_a_burst_fills_hosts_to_the_last_vcpu(tenant: Tenant, books: Books) -> None:
    """22 servers of 2 VCPUs are all that 8, 8, 12 and 16 VCPUs hold."""
    servers = [tenant.ask(MEDIUM) for _ in range(BURST)]
    tenant.running(servers)
    tenant.together(22 - BURST, MEDIUM)
    tenant.wait_for(tenant.ask(MEDIUM), "ERROR")
    books.check()
    assert len(books.allocations()) == 22
