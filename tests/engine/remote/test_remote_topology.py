"""Cells and devices are promised here while amounts are kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Conflict, NoValidHost, Unavailable
from gantt.model.commands import Inventory
from gantt.model.fleet import FleetStatement, HostReport
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS
from tests.elsewhere import Elsewhere, Shaky, Wall, ask, claims, engine_on
from tests.scheduler.small_cells import cell

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter")


@pytest.fixture
def pinning(there: Elsewhere, books: Shaky, wall: Wall) -> Iterator[Gantt]:
    """Two hosts, each of one cell with two CPUs: PCPU in the other Placement."""
    with engine_on(books, wall=wall, enabled_filters=FILTERS) as engine:
        there.fleet(engine, "h1", "h2")
        for host, uuid in there.providers.items():
            there.report(engine, host, numa_topology={"cells": [cell(0, ())]})
            known = there.books.get_inventories(uuid).inventories
            there.books.set_inventories(uuid, {**known, "PCPU": Inventory(9)})
        yield engine


def pinned() -> ScheduleRequest:
    flavor = Flavor(2, 64, extra_specs={"hw:cpu_policy": "dedicated"})
    return ask(flavor=flavor)


def test_cells_are_promised_once(there: Elsewhere, pinning: Gantt) -> None:
    picked = {pinning.schedule(pinned())[0][0].service_host for _ in range(2)}
    assert picked == {"h1", "h2"}
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    row, _ = claims(pinning)
    assert row.leased_until is None
    assert row.topology is not None
    pinning.release_claim(row.claim)
    pinning.schedule(pinned())
    assert pinning.verify().problems == ()


def test_cells_stay_promised_until_the_remote_claim_is_cleaned_up(
    there: Elsewhere, books: Shaky, pinning: Gantt, wall: Wall
) -> None:
    """Its allocations there may still be written."""
    pinning.schedule(pinned())
    ((one, *_),) = pinning.schedule(pinned())

    def away() -> None:
        raise Unavailable("away")

    books.before = away
    pinning.release_claim(one.claim or "")
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    books.before = lambda: None
    wall.ahead_s = 300
    pinning.expire_claims()
    ((again, *_),) = pinning.schedule(pinned())
    assert again.service_host == one.service_host


# -- machines that come back under another name --------------------------------------

TOPOLOGY = {"cells": [cell(0, ())]}


def reported(there: Elsewhere, engine: Gantt, host: str, uuid: str) -> None:
    """``host`` reports the cell and the provider ``uuid``."""
    there.report(engine, host, numa_topology=TOPOLOGY, uuid=uuid)


def test_another_name_is_refused_until_it_is_adopted_with_its_claims(
    there: Elsewhere, pinning: Gantt, wall: Wall
) -> None:
    ((one, *_),) = pinning.schedule(pinned())
    old = one.service_host
    uuid = there.providers[old]
    there.providers["new"] = uuid
    with pytest.raises(Conflict, match=f"run 'gantt host adopt {old} new'"):
        reported(there, pinning, "new", uuid)
    assert {each.host for each in pinning.list_hosts()} == {"h1", "h2"}

    wall.ahead_s = 300
    preview = pinning.adopt_host(old, "new", dry_run=True)
    assert len(preview.claims) == 1
    assert [row.claim for row in claims(pinning)] == [one.claim]
    done = pinning.adopt_host(old, "new")
    assert done == preview
    reported(there, pinning, "new", uuid)
    assert {each.host for each in pinning.list_hosts()} == {"h1", "h2", "new"} - {old}
    ((other, *_),) = pinning.schedule(pinned())
    assert other.service_host not in ("new", old)
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    assert pinning.verify().problems == ()


def test_adoption_leaves_the_provider_of_the_other_placement_alone(
    there: Elsewhere, pinning: Gantt, wall: Wall
) -> None:
    before = {one.uuid: one for one in there.books.list_providers()}
    wall.ahead_s = 300
    uuid = there.providers["h1"]
    done = pinning.adopt_host("h1", "new")
    assert (done.provider_uuid, done.deleted_provider) == (None, None)
    assert {one.uuid: one for one in there.books.list_providers()} == before
    (new,) = [one for one in pinning.list_hosts() if one.host == "new"]
    assert new.provider_uuid == uuid


def test_a_host_that_is_adopted_stands_for_the_uuid_that_it_reports(
    there: Elsewhere, pinning: Gantt, wall: Wall
) -> None:
    ((one, *_),) = pinning.schedule(pinned())
    old = one.service_host
    there.fleet(pinning, "new")
    wall.ahead_s = 300
    pinning.adopt_host(old, "new")
    (new,) = [each for each in pinning.list_hosts() if each.host == "new"]
    assert new.provider_uuid == there.providers["new"]
    assert [row.claim for row in claims(pinning)] == [one.claim]
    assert pinning.verify().problems == ()


def test_the_uuid_of_a_third_host_is_not_adopted(
    there: Elsewhere, pinning: Gantt, wall: Wall
) -> None:
    wall.ahead_s = 300
    with pytest.raises(Conflict, match="belongs to host h2"):
        pinning.adopt_host("h1", uuid=there.providers["h2"])


def test_what_novas_database_moves_to_another_service_keeps_its_claims(
    there: Elsewhere, pinning: Gantt
) -> None:
    """As when another nova-compute takes a node over: the row says so itself."""
    ((one, *_),) = pinning.schedule(pinned())
    old = one.service_host
    stats = HostStats(
        uuid=there.providers[old],
        vcpus=1,
        memory_mb=64,
        hypervisor_hostname=old,
        numa_topology=TOPOLOGY,
    )
    found = pinning.set_fleet(
        FleetStatement(hosts=(HostReport("moved", old, stats, None),))
    )
    assert found == ()
    (row,) = claims(pinning)
    assert row.claim == one.claim
    hosts = {each.host: each.provider_uuid for each in pinning.list_hosts()}
    assert hosts["moved"] == there.providers[old]
    assert hosts[old] is None
    ((other, *_),) = pinning.schedule(pinned())
    assert other.service_host not in ("moved", old)
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    assert pinning.verify().problems == ()


def test_another_uuid_under_the_known_name_keeps_its_claims(
    there: Elsewhere, pinning: Gantt
) -> None:
    """A compute node that was made again: the claims are the host's, whatever provider
    stands for it."""
    ((one, *_),) = pinning.schedule(pinned())
    made_again = str(uuid4())
    reported(there, pinning, one.service_host, made_again)
    assert [row.claim for row in claims(pinning)] == [one.claim]
    hosts = {each.host: each.provider_uuid for each in pinning.list_hosts()}
    assert hosts[one.service_host] == made_again
    assert pinning.verify().problems == ()


def test_a_deleted_host_that_comes_back_has_its_claims(
    there: Elsewhere, pinning: Gantt
) -> None:
    ((one, *_),) = pinning.schedule(pinned())
    host = one.service_host
    pinning.delete_host(host, host)
    reported(there, pinning, host, there.providers[host])
    ((other, *_),) = pinning.schedule(pinned())
    assert other.service_host != host
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    pinning.release_claim(one.claim or "")
    ((again, *_),) = pinning.schedule(pinned())
    assert again.service_host == host
    assert pinning.verify().problems == ()
