"""A remote Placement decides amounts: upstream's, and another Gantt's."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from msgspec import json

from gantt import errors
from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt as open_engine
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


def test_an_instance_is_claimed_there_and_promised_here(
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
    assert record.steps[0].name == "allocation candidates"
    assert engine.verify().problems == ()


def test_all_instances_are_written_at_once(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2", vcpus=3)
    chosen = engine.schedule(ask(6))
    assert Counter(row[0].service_host for row in chosen) == {"h1": 3, "h2": 3}
    assert books.writes == 1
    assert there.used() == 6


def test_more_than_there_is_is_refused_whole(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", vcpus=3)
    with pytest.raises(errors.NoValidHost, match="not enough hosts"):
        engine.schedule(ask(4))
    assert (there.used(), claims(engine)) == (0, [])


def test_a_lease_is_the_callers(there: Elsewhere, engine: Gantt, wall: Wall) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(lease_s=5))
    (row,) = claims(engine)
    assert row.leased_until is not None
    assert row.leased_until <= wall.now() + 5_000_000
    engine.confirm_claim(one.claim or "")
    wall.ahead_s = 10
    assert engine.expire_claims() == 0
    assert there.used() == 1


def test_a_lease_that_ends_gives_back_what_is_there(
    there: Elsewhere, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(2, lease_s=5))[:1]
    wall.ahead_s = 10
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (0, [])
    with pytest.raises(errors.ClaimExpired):
        engine.confirm_claim(one.claim or "")


def test_a_claim_is_released_there_too(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask())
    engine.release_claim(one.claim or "")
    assert (there.used(), claims(engine)) == (0, [])


def test_a_dry_run_claims_nothing(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    decision = engine.decide(ask())
    assert decision.failure is None
    assert len(decision.chosen[0]) == 2
    assert (there.used(), claims(engine)) == (0, [])
    assert engine.capacity(RequestSpec(flavor=SMALL)).hosts == {"h1": 4, "h2": 4}


def test_a_group_keeps_its_rule_at_the_gate_here(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    group = InstanceGroup("g", "anti-affinity")
    chosen = engine.schedule(ask(2, instance_group=group))
    assert {row[0].service_host for row in chosen} == {"h1", "h2"}
    with pytest.raises(errors.NoValidHost):
        engine.schedule(ask(3, instance_group=InstanceGroup("k", "anti-affinity")))


def test_a_disabled_host_is_not_taken(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    engine.update_service(Service("h1", "nova-compute", disabled=True))
    for _ in range(2):
        assert engine.schedule(ask())[0][0].service_host == "h2"


def test_only_what_its_answer_can_tell_is_advised(
    there: Elsewhere, engine: Gantt
) -> None:
    """It is not asked again for what a smaller request would find."""
    there.fleet(engine, "h1", "h2")

    def change(count: int = 1, **fields: Any) -> str | None:
        why = engine.decide(ask(count, **fields)).why
        assert why is not None
        return why.change

    assert change(9) == "ask for 8 instead of 9 instances"
    assert change(ignore_hosts=("h1", "h2")) == "ignore no hosts"
    assert change(flavor=Flavor(vcpus=5, memory_mb=1024, root_gb=10)) is None


def test_what_moves_keeps_what_it_has(there: Elsewhere, engine: Gantt) -> None:
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


def test_only_the_remote_judges_names(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    there.books.create_resource_class("CUSTOM_GPU")
    there.books.set_inventory(there.providers["h1"], "CUSTOM_GPU", Inventory(1))
    flavor = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_GPU": "1"})
    engine.schedule(ask(flavor=flavor))
    assert there.books.get_usages(there.providers["h1"]).usages["CUSTOM_GPU"] == 1
    unknown = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_NO": "1"})
    with pytest.raises(errors.UnknownName, match="CUSTOM_NO"):
        engine.schedule(ask(flavor=unknown))


def test_a_group_that_asks_for_no_resources_is_asked_another_way(
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


def test_trees_and_sharing_providers_are_found_by_their_host(
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


def test_nothing_is_promised_twice(there: Elsewhere, engine: Gantt) -> None:
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


def test_an_engine_that_should_ask_and_cannot_is_refused() -> None:
    asked = EngineOptions(scheduler=SchedulerOptions(placement="http://h"))
    with pytest.raises(errors.Refused, match="no client for it"):
        open_engine("memory://", asked)
