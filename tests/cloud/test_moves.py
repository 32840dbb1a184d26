"""Servers change their host or size, and come back from where they were kept."""

from __future__ import annotations

from tests.cloud.books import Books
from tests.cloud.cloud import SIZES, Cloud
from tests.cloud.processes import wait_until
from tests.cloud.tenant import IMPOSSIBLE, MEDIUM, SETTLE_S, SMALL, Tenant

RESIZED = "VERIFY_RESIZE"


def test_a_resize_holds_both_sizes_until_it_is_confirmed(
    tenant: Tenant, books: Books
) -> None:
    server = tenant.boot(SMALL)
    source = tenant.host(server)
    target = tenant.resize(server, MEDIUM, RESIZED)
    assert target != source
    books.check()
    assert len(books.allocations()) == 2
    tenant.act(tenant.compute.confirm_server_resize, server, "ACTIVE")
    books.check()
    assert tenant.server(server).flavor["vcpus"] == MEDIUM.vcpus
    assert list(books.allocations()) == [server]


def test_a_resize_is_reverted(tenant: Tenant, books: Books) -> None:
    server = tenant.boot(SMALL)
    source = tenant.host(server)
    tenant.resize(server, MEDIUM, RESIZED)
    tenant.compute.revert_server_resize(server)
    tenant.wait_for(server, "ACTIVE")
    assert tenant.host(server) == source
    assert tenant.server(server).flavor["vcpus"] == SMALL.vcpus
    books.check()
    assert list(books.allocations()) == [server]


def test_a_resize_that_fits_nowhere_leaves_the_server_as_it_is(
    tenant: Tenant, books: Books
) -> None:
    server = tenant.boot(SMALL)
    source = tenant.host(server)
    tenant.compute.resize_server(server, tenant.flavor(IMPOSSIBLE))
    assert tenant.wait_for(server, "ACTIVE").compute_host == source
    books.check()
    assert list(books.allocations()) == [server]


def test_a_cold_migration_goes_to_another_host(tenant: Tenant, books: Books) -> None:
    server = tenant.boot(MEDIUM)
    source = tenant.host(server)
    target = tenant.act(tenant.compute.migrate_server, server, RESIZED)
    assert target != source
    tenant.act(tenant.compute.confirm_server_resize, server, "ACTIVE")
    books.check()


def test_a_live_migration_goes_to_another_host(tenant: Tenant, books: Books) -> None:
    server = tenant.boot(MEDIUM)
    source = tenant.host(server)
    tenant.act(tenant.compute.live_migrate_server, server, "ACTIVE", **AUTOMATIC)
    assert tenant.host(server) != source
    books.check()


def test_a_live_migration_to_a_named_host(tenant: Tenant) -> None:
    server = tenant.boot(MEDIUM)
    target = min(set(SIZES) - {tenant.host(server)})
    named = {**AUTOMATIC, "host": target}
    tenant.act(tenant.compute.live_migrate_server, server, "ACTIVE", **named)
    assert tenant.host(server) == target


AUTOMATIC = {"host": None, "force": None, "block_migration": "auto"}


def test_servers_are_evacuated_from_a_dead_host(
    cloud: Cloud, tenant: Tenant, books: Books
) -> None:
    servers = [tenant.boot(SMALL, host="host1") for _ in range(2)]
    with tenant.dead(cloud, "host1"):
        for server in servers:
            tenant.compute.evacuate_server(server)
            # Nova ends the task before it names the new host.
            wait_until(
                lambda server=server: tenant.host(server) != "host1",  # type: ignore[misc]
                f"another host of {server}",
                within_s=SETTLE_S,
            )
            tenant.wait_for(server, "ACTIVE")
    books.check()
    assert sorted(books.allocations()) == sorted(servers)


def test_a_rebuild_stays_on_its_host(tenant: Tenant, books: Books) -> None:
    server = tenant.boot(SMALL)
    host = tenant.host(server)
    tenant.compute.rebuild_server(server, tenant.image)
    assert tenant.wait_for(server, "ACTIVE").compute_host == host
    other = tenant.upload()
    tenant.compute.rebuild_server(server, other)
    assert tenant.wait_for(server, "ACTIVE").compute_host == host
    books.check()
    assert list(books.allocations()) == [server]


def test_a_shelved_server_holds_nothing_and_comes_back(
    tenant: Tenant, books: Books
) -> None:
    server = tenant.boot(MEDIUM)
    tenant.act(tenant.compute.shelve_server, server, "SHELVED_OFFLOADED")
    books.check()
    assert not books.allocations()
    assert tenant.act(tenant.compute.unshelve_server, server, "ACTIVE") in SIZES
    books.check()
    assert list(books.allocations()) == [server]
