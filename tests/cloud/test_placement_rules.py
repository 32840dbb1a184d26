"""Where servers may go: groups, zones, and hosts that a request names."""

from __future__ import annotations

import pytest

from tests.cloud.cloud import SIZES
from tests.cloud.schedulers import Advised, Setup
from tests.cloud.tenant import LARGEST, SMALL, Tenant


def test_servers_of_an_affinity_group_share_a_host(tenant: Tenant) -> None:
    group = tenant.group("affinity")
    servers = [tenant.boot(**group) for _ in range(3)]
    assert len({tenant.host(server) for server in servers}) == 1


def test_servers_of_an_anti_affinity_group_run_apart(tenant: Tenant) -> None:
    group = tenant.group("anti-affinity")
    servers = [tenant.boot(**group) for _ in SIZES]
    assert {tenant.host(server) for server in servers} == set(SIZES)
    failed = tenant.wait_for(tenant.ask(**group), "ERROR")
    assert "No valid host" in failed.fault["message"]


def test_an_anti_affinity_group_in_one_request(tenant: Tenant) -> None:
    servers = tenant.together(3, **tenant.group("anti-affinity"))
    assert len({tenant.host(server) for server in servers}) == 3


def test_an_affinity_group_in_one_request(tenant: Tenant) -> None:
    servers = tenant.together(4, **tenant.group("affinity"))
    assert len({tenant.host(server) for server in servers}) == 1


def test_a_soft_anti_affinity_group_runs_apart_while_it_can(tenant: Tenant) -> None:
    group = tenant.group("soft-anti-affinity")
    servers = [tenant.boot(**group) for _ in (*SIZES, "one more")]
    assert {tenant.host(server) for server in servers} == set(SIZES)


@pytest.mark.parametrize("host", ["host1", "host3"])
def test_a_named_host_is_taken(tenant: Tenant, host: str) -> None:
    assert tenant.host(tenant.boot(host=host)) == host
    assert tenant.host(tenant.boot(availability_zone=f"nova:{host}")) == host


def test_a_named_host_that_is_too_small_is_refused(tenant: Tenant) -> None:
    failed = tenant.wait_for(tenant.ask(LARGEST, host="host1"), "ERROR")
    assert "No valid host" in failed.fault["message"]


def test_a_zone_holds_its_servers(setup: Setup, tenant: Tenant) -> None:
    with tenant.zone("east", "host2"):
        if isinstance(setup, Advised):
            # A round of its feed may have told of the zone before it had a host.
            setup.wait_for_zone("east")
        servers = [tenant.boot(SMALL, availability_zone="east") for _ in range(2)]
        assert {tenant.host(server) for server in servers} == {"host2"}
        tenant.delete(*servers)


def test_hints_name_hosts_to_share_and_to_shun(tenant: Tenant) -> None:
    first = tenant.boot()
    beside = tenant.boot(scheduler_hints={"same_host": [first]})
    apart = tenant.boot(scheduler_hints={"different_host": [first]})
    assert tenant.host(beside) == tenant.host(first)
    assert tenant.host(apart) != tenant.host(first)
