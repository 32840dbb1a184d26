"""A remote Placement decides amounts: upstream's, and another Gantt's."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from msgspec import json

from gantt import Item, errors
from gantt.engine.factory import open_gantt as open_engine
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import (
    Inventory,
)
from gantt.model.hosts import Service
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.elsewhere import (
    SMALL,
    Elsewhere,
    Shaky,
    Wall,
    ask,
    claims,
    only,
)


def test_instance_is_claimed_remotely_and_recorded_locally(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask()
    ((chosen, alternate),) = engine.schedule(request)
    assert {chosen.service_host, alternate.service_host} == {"h1", "h2"}
    assert chosen.compute_node_uuid == there.providers[chosen.service_host]
    held = there.of(only(request))
    assert held is not None
    assert (held.generation, held.project_id) == (1, "project")
    body = json.decode(chosen.allocation_request or "")
    uuid = there.providers[chosen.service_host]
    size = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
    assert body["allocations"] == {uuid: {"resources": size}}
    assert body["mappings"] == {"": [uuid]}
    (row,) = claims(engine)
    assert (row.leased_until, row.claim) == (None, chosen.claim)
    assert engine.list_providers() == ()
    (record,) = engine.decisions()
    assert record.timings.keys() == {"candidates", "decide", "claim"}
    assert record.steps[0].name == "free resources"
    assert engine.verify().problems == ()


def test_all_instances_are_written_in_one_request(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2", vcpus=3)
    chosen = engine.schedule(ask(6))
    assert Counter(row[0].service_host for row in chosen) == {"h1": 3, "h2": 3}
    assert books.writes == 1
    assert there.used() == 6


def test_request_beyond_the_capacity_is_refused_atomically(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", vcpus=3)
    with pytest.raises(errors.NoValidHost, match="not enough hosts"):
        engine.schedule(ask(4))
    assert (there.used(), claims(engine)) == (0, [])


def test_lease_is_that_of_the_request(
    there: Elsewhere, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(lease_s=5))
    (row,) = claims(engine)
    assert row.leased_until is not None
    assert row.leased_until <= wall.now() + 5_000_000
    engine.confirm_claim(one.claim or "")
    wall.ahead_s = 10
    assert engine.expire_claims() == 0
    assert there.used() == 1


def test_expired_lease_releases_the_remote_allocation(
    there: Elsewhere, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(2, lease_s=5))[:1]
    wall.ahead_s = 10
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (0, [])
    with pytest.raises(errors.ClaimExpired):
        engine.confirm_claim(one.claim or "")


def test_release_deletes_the_remote_allocation(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask())
    engine.release_claim(one.claim or "")
    assert (there.used(), claims(engine)) == (0, [])


def test_dry_run_claims_nothing(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    decision = engine.decide(ask())
    assert decision.failure is None
    assert len(decision.chosen[0]) == 2
    assert (there.used(), claims(engine)) == (0, [])
    assert engine.capacity(RequestSpec(flavor=SMALL)).hosts == {"h1": 4, "h2": 4}


def test_committer_enforces_server_group_policy(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    group = InstanceGroup(str(UUID(int=1)), "anti-affinity")
    chosen = engine.schedule(ask(2, instance_group=group))
    assert {row[0].service_host for row in chosen} == {"h1", "h2"}
    with pytest.raises(errors.NoValidHost):
        other = InstanceGroup(str(UUID(int=2)), "anti-affinity")
        engine.schedule(ask(3, instance_group=other))


def test_disabled_host_is_not_selected(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    engine.update_service(Service("h1", "nova-compute", disabled=True))
    for _ in range(2):
        assert engine.schedule(ask())[0][0].service_host == "h2"


def test_advice_uses_only_remote_answers(there: Elsewhere, engine: Gantt) -> None:
    """It is not asked again for what a smaller request would find."""
    there.fleet(engine, "h1", "h2")

    def change(count: int = 1, **fields: Any) -> str | None:
        why = engine.decide(ask(count, **fields)).why
        assert why is not None
        return why.change

    assert change(9) == "ask for 8 instead of 9 instances"
    assert change(ignore_hosts=("h1", "h2")) == "ignore no hosts"
    assert change(flavor=Flavor(vcpus=5, memory_mb=1024, root_gb=10)) is None


def test_move_keeps_the_existing_allocation(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask()
    uuid = only(request)
    first = engine.schedule(request)[0][0].service_host
    moved = ScheduleRequest(
        RequestSpec(flavor=SMALL, project_id="project", ignore_hosts=(first,)), (uuid,)
    )
    second = engine.schedule(moved)[0][0]
    assert second.service_host != first
    held = there.of(uuid)
    assert held is not None
    assert set(held.allocations) == set(there.providers.values())
    assert held.generation == 2
    engine.release_claim(second.claim or "")
    held = there.of(uuid)
    assert held is not None
    assert list(held.allocations) == [there.providers[first]]


def test_names_are_validated_remotely(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    there.books.create_resource_class("CUSTOM_GPU")
    there.books.set_inventory(there.providers["h1"], "CUSTOM_GPU", Inventory(1))
    flavor = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_GPU": "1"})
    engine.schedule(ask(flavor=flavor))
    assert there.books.get_usages(there.providers["h1"]).usages["CUSTOM_GPU"] == 1
    unknown = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_NO": "1"})
    with pytest.raises(errors.UnknownName, match="CUSTOM_NO"):
        engine.schedule(ask(flavor=unknown))


def test_group_without_resources_is_encoded_differently(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    there.books.create_trait("CUSTOM_FAST")
    there.books.set_traits(there.providers["h2"], ["CUSTOM_FAST"])
    flavor = Flavor(
        extra_specs={
            "resources:VCPU": "0",
            "resources:MEMORY_MB": "0",
            "resources_A:DISK_GB": "1",
            "trait:CUSTOM_FAST": "required",
        }
    )
    ((chosen, *others),) = engine.schedule(ask(flavor=flavor))
    assert (chosen.service_host, others) == ("h2", [])
    assert set(json.decode(chosen.allocation_request or "")["mappings"]) == {"", "_A"}


def test_trees_and_sharing_providers_map_to_their_host(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    shared = there.books.create_provider("shared").uuid
    there.books.set_inventories(shared, {"DISK_GB": Inventory(1000)})
    there.books.set_traits(shared, ["MISC_SHARES_VIA_AGGREGATE"])
    aggregate = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
    root = there.providers["h1"]
    numa = there.books.create_provider("numa", parent_uuid=root).uuid
    there.books.set_inventories(root, {})
    there.books.set_inventories(
        numa, {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192)}
    )
    for uuid in (shared, root):
        there.books.set_aggregates(uuid, [aggregate])
    wide = Flavor(vcpus=8, memory_mb=1024, root_gb=100)
    ((chosen,),) = engine.schedule(ask(flavor=wide))
    assert chosen.service_host == "h1"
    assert there.books.get_usages(shared).usages == {"DISK_GB": 100}


# -- many callers ---------------------------------------------------------------------


def test_nothing_is_claimed_twice(there: Elsewhere, engine: Gantt) -> None:
    hosts = ["h1", "h2", "h3", "h4"]
    there.fleet(engine, *hosts, vcpus=3)
    done: Counter[str] = Counter()
    lock = threading.Lock()

    def call() -> None:
        for _ in range(2):
            try:
                engine.schedule(ask())
                outcome = "placed"
            except errors.NoValidHost:
                outcome = "refused"
            with lock:
                done[outcome] += 1

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == {"placed": 12, "refused": 4}
    assert there.used() == 12
    assert all(there.used(host) == 3 for host in hosts)
    rows = claims(engine)
    assert len(rows) == 12
    assert all(row.leased_until is None for row in rows)


# -- how it is configured -------------------------------------------------------------


def test_remote_engine_requires_a_client() -> None:
    asked = EngineOptions(scheduler=SchedulerOptions(placement="http://h"))
    with pytest.raises(errors.Refused, match="no client for it"):
        open_engine("memory://", asked)


def test_plain_words_are_refused_by_name(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    for refused in (
        lambda: engine.place(Item("web", cpu=1)),
        lambda: engine.release_placement("web"),
    ):
        with pytest.raises(errors.Invalid, match="A remote Placement keeps the amount"):
            refused()
    assert claims(engine) == []
