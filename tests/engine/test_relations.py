"""Spread over racks through the whole engine: asked by hints, extra specs and server
groups, counted in the commit."""

from __future__ import annotations

import threading
import uuid as uuids
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.client.scheduler import SchedulerClient
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError, Invalid, NotFound, NoValidHost
from gantt.model.fleet_lists import ServiceQuery
from gantt.model.hosts import HostAggregate, ServerGroup, Service
from gantt.model.relations import TopologyKey
from gantt.model.selection import Why
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests.idle_host import idle

SMALL = Flavor(vcpus=1, memory_mb=1024, root_gb=1, name="small")


def new_uuid() -> str:
    return str(uuids.uuid4())


@pytest.fixture
def engine() -> Iterator[Gantt]:
    """Twelve hosts of 4 VCPU: h0 … h11, h0, h4 and h8 in rack r0, and so on."""
    with open_gantt("memory://", EngineOptions(store=StoreOptions(create=True))) as one:
        for number in range(12):
            name = f"h{number}"
            report(one, name)
            one.label_host(name, {"rack": f"r{number % 4}"})
        yield one


def report(engine: Gantt, name: str, vcpus: int = 4) -> None:
    engine.update_host(
        name,
        name,
        idle(vcpus, 8192, cpu_allocation_ratio=1.0, hypervisor_hostname=name),
    )


def ask(
    count: int = 1, *, extra: dict[str, str] | None = None, **fields: Any
) -> ScheduleRequest:
    flavor = replace(SMALL, extra_specs=extra or {})
    names = tuple(new_uuid() for _ in range(count))
    spec = RequestSpec(flavor=flavor, project_id="p", user_id="u", **fields)
    return ScheduleRequest(spec, names)


def racks(engine: Gantt, request: ScheduleRequest, by: int = 4) -> Counter[str]:
    """Where its instances went."""
    return Counter(
        f"r{int(one[0].service_host[1:]) % by}" for one in engine.schedule(request)
    )


SPREAD = {"gantt:spread": "rack:1:hard"}


@pytest.mark.parametrize("count", [1, 4, 10, 47, 48])
def test_many_instances_are_spread_at_once(engine: Gantt, count: int) -> None:
    found = racks(engine, ask(count, extra=SPREAD))
    assert max(found.values()) - min(found.get(f"r{n}", 0) for n in range(4)) <= 1


def test_a_scheduler_hint_asks_as_an_extra_spec_does(engine: Gantt) -> None:
    hints = {"gantt:spread": ("rack:1:hard,host:1",)}
    assert racks(engine, ask(8, scheduler_hints=hints)) == {
        f"r{n}": 2 for n in range(4)
    }


def test_novas_own_forms_ask_for_it(engine: Gantt) -> None:
    """As an unchanged Nova sends a request: hints as lists, specs in the flavor."""
    flavor = {"vcpus": 1, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
    client = SchedulerClient(engine)
    for spec in (
        {"flavor": flavor, "scheduler_hints": {"gantt:spread": ["rack:1:hard"]}},
        {"flavor": {**flavor, "extra_specs": {"gantt:spread": "rack:1,host:9:soft"}}},
    ):
        names = [new_uuid() for _ in range(6)]
        spec = {"project_id": "p", "num_instances": 6, **spec}
        found = client.select_destinations({}, spec, instance_uuids=names)
        used = Counter(int(one[0].service_host[1:]) % 4 for one in found)
        assert sorted(used.values()) == [1, 1, 2, 2]
    (record, *_) = engine.decisions(limit=1)
    assert record.request is not None


def test_one_request_after_the_other_counts_the_group(engine: Gantt) -> None:
    group = InstanceGroup(new_uuid(), "soft-affinity")
    found = Counter[str]()
    for _ in range(8):
        found += racks(engine, ask(extra=SPREAD, instance_group=group))
    assert found == {f"r{n}": 2 for n in range(4)}


def test_a_refusal_names_domain_and_number(engine: Gantt) -> None:
    for number in (2, 6, 10):
        report(engine, f"h{number}", vcpus=1)
    with pytest.raises(NoValidHost) as refusal:
        engine.schedule(ask(16, extra=SPREAD))
    assert refusal.value.message.endswith(
        "16 instances were asked for, 15 have a place. Spread by rack: rack r0 has 4, "
        "the least is 3 (rack r2, full), at most 1 apart."
    )
    why = refusal.value.why
    assert isinstance(why, Why)
    assert why.change == "ask for 15 instead of 16 instances"
    assert "spread by rack" in [step.name for step in why.steps]


def test_hosts_without_the_key_are_left_out_and_counted(engine: Gantt) -> None:
    report(engine, "h12", vcpus=100)
    report(engine, "h13")
    with pytest.raises(NoValidHost, match=r"2 hosts have no rack and were left out\."):
        engine.schedule(ask(49, extra=SPREAD))


def test_fewer_domains_than_min_domains_count_the_least_as_nothing(
    engine: Gantt,
) -> None:
    extra = {"gantt:spread": "rack:2:hard:5"}
    assert racks(engine, ask(8, extra=extra)) == {f"r{n}": 2 for n in range(4)}
    with pytest.raises(NoValidHost, match="of 5 domains .* there are 4, so that"):
        engine.schedule(ask(9, extra=extra))


def test_distinct_counts_against_a_number(engine: Gantt) -> None:
    extra = {"gantt:distinct": "rack:2"}
    assert racks(engine, ask(8, extra=extra)) == {f"r{n}": 2 for n in range(4)}
    with pytest.raises(NoValidHost, match="rack r0 has 2, and at most 2 may be there"):
        engine.schedule(ask(9, extra=extra))


def test_groups_are_kept_apart_whichever_comes_first(engine: Gantt) -> None:
    one, other = new_uuid(), new_uuid()
    for uuid in (one, other):
        engine.set_server_group(ServerGroup(uuid, policy="soft-affinity"))
    engine.relate_group(one, f"apart=rack:{other}")
    first = racks(engine, ask(1, instance_group=InstanceGroup(other)))
    second = racks(engine, ask(30, instance_group=InstanceGroup(one)))
    assert not first & second
    third = racks(engine, ask(8, instance_group=InstanceGroup(other)))
    assert not third & second
    with pytest.raises(NoValidHost, match=f"Apart by rack: rack r. has .* {other}"):
        engine.schedule(ask(7, instance_group=InstanceGroup(one)))


def test_a_group_without_a_policy_is_spread_by_its_relations(engine: Gantt) -> None:
    group = new_uuid()
    engine.set_server_group(ServerGroup(group))
    engine.relate_group(group, "spread=rack:1:hard")
    hints = {"group": (group,)}
    found = Counter[str]()
    for _ in range(8):
        found += racks(engine, ask(scheduler_hints=hints))
    assert found == {f"r{n}": 2 for n in range(4)}
    engine.relate_group(group, "")
    assert engine.list_services(ServiceQuery(binary="gantt-relations")) == ()


def test_a_known_group_without_a_policy_is_counted(engine: Gantt) -> None:
    group = new_uuid()
    engine.set_server_group(ServerGroup(group))
    hints = {"group": (group,), "gantt:spread": ("rack:1:hard",)}
    found = Counter[str]()
    for _ in range(4):
        found += racks(engine, ask(scheduler_hints=hints))
    assert found == {f"r{n}": 1 for n in range(4)}


def test_a_soft_spread_prefers_and_never_refuses(engine: Gantt) -> None:
    extra = {"gantt:spread": "rack:1:soft"}
    assert racks(engine, ask(8, extra=extra)) == {f"r{n}": 2 for n in range(4)}
    assert sum(racks(engine, ask(40, extra=extra)).values()) == 40
    with pytest.raises(NoValidHost) as refusal:
        engine.schedule(ask(1, extra=extra))
    assert "Spread" not in refusal.value.message


def test_racks_of_other_zones_are_not_compared(engine: Gantt) -> None:
    hosts = frozenset(f"h{n}" for n in range(12) if n % 4 < 2)
    zone = HostAggregate(
        new_uuid(), "z", hosts=hosts, metadata={"availability_zone": "z"}
    )
    engine.set_host_aggregates([zone])
    found = racks(engine, ask(6, extra=SPREAD, availability_zone="z"))
    assert found == {"r0": 3, "r1": 3}


def test_a_rack_that_is_down_stops_nothing_but_a_full_one_does(engine: Gantt) -> None:
    """As kubernetes#80921 asks for."""
    for number in (3, 7, 11):
        engine.update_service(
            Service(f"h{number}", "gantt-operator", disabled=True, disabled_reason="x")
        )
    assert racks(engine, ask(9, extra=SPREAD)) == {"r0": 3, "r1": 3, "r2": 3}


def test_two_keys_are_kept_where_one_by_one_would_end(engine: Gantt) -> None:
    """Racks with one host of each power circuit but for one, which is on both."""
    for number in range(12):
        engine.label_host(f"h{number}", {"power": "a" if number < 6 else "b"})
    extra = {"gantt:spread": "rack:1:hard,power:1:hard"}
    found = engine.schedule(ask(24, extra=extra))
    numbers = [int(one[0].service_host[1:]) for one in found]
    assert Counter(n % 4 for n in numbers) == dict.fromkeys(range(4), 6)
    assert Counter(n < 6 for n in numbers) == {True: 12, False: 12}


def test_a_way_is_found_that_is_none_one_after_the_other(engine: Gantt) -> None:
    """The one that is there is in rack r1, on power a. What has room is r1 on b and r0
    on a: the first of two breaks a relation wherever it goes, both keep them."""
    report(engine, "h1", vcpus=1)
    for number in range(12):
        is_on = number % 4 < 2
        power = "a" if number % 4 == 0 or number == 1 else "b"
        rack = f"r{number % 4}" if is_on else None
        engine.label_host(f"h{number}", {"rack": rack, "power": power})
    group = InstanceGroup(new_uuid(), "soft-affinity")
    engine.schedule(ask(1, instance_group=group, force_hosts=("h1",)))
    extra = {"gantt:spread": "rack:1:hard,power:1:hard"}
    with pytest.raises(NoValidHost):
        engine.schedule(ask(1, extra=extra, instance_group=group))
    found = racks(engine, ask(2, extra=extra, instance_group=group))
    assert found == {"r0": 1, "r1": 1}


def test_the_search_for_several_keys_is_bounded_and_says_so() -> None:
    options = EngineOptions(
        store=StoreOptions(create=True), scheduler=SchedulerOptions(relation_steps=1)
    )
    with open_gantt("memory://", options) as engine:
        for number in range(6):
            report(engine, f"h{number}", vcpus=2)
            labels = {"rack": f"r{number % 3}", "power": f"p{number % 2}"}
            engine.label_host(f"h{number}", labels)
        report(engine, "h0", vcpus=0)
        extra = {"gantt:spread": "rack:1:hard,power:1:hard"}
        with pytest.raises(NoValidHost) as refusal:
            engine.schedule(ask(11, extra=extra))
        assert "relation_steps" in refusal.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rak:1", "No host has the topology key 'rak': there is host, rack."),
        ("rack:0", "'0' is no number from 1 on"),
        ("rack:-1", "'-1' is no number from 1 on"),
        ("rack:1:soft:3", "MIN_DOMAINS needs hard"),
        ("rack:1:2:3", "too many numbers"),
        ("", "it has no topology key"),
        (":1", "it has no topology key"),
        (",".join(["rack:1"] * 3 + [f"host:{n}" for n in range(1, 9)]), "limit is 8"),
        (",".join(f"none{n}" for n in range(9)), "has 9 relations"),
    ],
)
def test_bad_input_is_refused_by_name(engine: Gantt, text: str, words: str) -> None:
    for request in (
        ask(extra={"gantt:spread": text}),
        ask(scheduler_hints={"gantt:spread": (text,)}),
    ):
        with pytest.raises(Invalid) as refusal:
            engine.schedule(request)
        assert words in refusal.value.message


def test_an_unknown_group_to_be_apart_from_is_refused(engine: Gantt) -> None:
    hints = {"gantt:apart": (f"rack:{new_uuid()}",)}
    with pytest.raises(Invalid, match="is not known here"):
        engine.schedule(ask(scheduler_hints=hints))
    with pytest.raises(Invalid, match="give it as a scheduler hint"):
        engine.schedule(ask(extra={"gantt:apart": f"rack:{new_uuid()}"}))


def test_forced_hosts_ask_for_no_spread_as_for_no_filter(engine: Gantt) -> None:
    for _ in range(3):
        request = ask(extra={"gantt:distinct": "rack"}, force_hosts=("h1",))
        assert racks(engine, request) == {"r1": 1}


def test_capacity_counts_what_relations_allow(engine: Gantt) -> None:
    def room(extra: dict[str, str]) -> int:
        return engine.capacity(RequestSpec(replace(SMALL, extra_specs=extra))).total

    for number in (2, 6, 10):
        report(engine, f"h{number}", vcpus=1)
    found = engine.capacity(RequestSpec(replace(SMALL, extra_specs=SPREAD)))
    assert found.total == 15
    assert found.limits["spread by rack"] > 0
    assert sum(racks(engine, ask(15, extra=SPREAD)).values()) == 15
    assert room({"gantt:distinct": "rack:2"}) == 2 * 3
    assert room({"gantt:spread": "rack:1:soft"}) == 9 * 4 + 3 - 15


# -- labels ----------------------------------------------------------------------------


def test_labels_are_given_listed_and_taken_away(engine: Gantt) -> None:
    found = engine.label_host("h1", {"power": "a", "rack": "r9"})
    assert found.labels == {"power": "a", "rack": "r9"}
    assert engine.label_host("h1", {"power": None}).labels == {"rack": "r9"}
    assert engine.label_host("h1").labels == {"rack": "r9"}
    (key,) = engine.list_domains()
    assert key == TopologyKey("rack", {"r0": 3, "r1": 2, "r2": 3, "r3": 3, "r9": 1})
    with pytest.raises(NotFound):
        engine.label_host("nobody", {"rack": "r1"})
    for bad in ({"": "a"}, {"a b": "c"}, {"a": "b c"}, {"host": "x"}, {"a": "b" * 64}):
        with pytest.raises(Invalid):
            engine.label_host("h1", bad)
    many = {f"key{n}": "v" * 60 for n in range(5)}
    with pytest.raises(Invalid, match="the limit is 255"):
        engine.label_host("h1", many)
    engine.delete_host("h1", "h1")
    report(engine, "h1")
    assert engine.label_host("h1").labels == {}


def test_a_label_wins_over_aggregates_and_these_over_traits(engine: Gantt) -> None:
    report(engine, "h20")
    engine.create_trait("CUSTOM_ROW_7")
    (view,) = engine.list_hosts(host="h20")
    assert view.provider_uuid is not None
    engine.set_traits(view.provider_uuid, ("CUSTOM_ROW_7",))

    def row_of() -> dict[str, int]:
        return engine.list_domains(key="row")[0].domains

    assert row_of() == {"7": 1}
    aggregate = HostAggregate(
        new_uuid(), "a", hosts=frozenset({"h20"}), metadata={"topology:row": "8"}
    )
    engine.set_host_aggregates([aggregate])
    assert row_of() == {"8": 1}
    other = replace(aggregate, uuid=new_uuid(), metadata={"row": "9"})
    engine.set_host_aggregates([other])
    assert engine.list_domains(key="row") == (TopologyKey("row", {}, 13, ("h20",)),)
    with pytest.raises(NoValidHost, match="two values of row are told"):
        engine.schedule(ask(extra={"gantt:spread": "row:1"}))
    engine.label_host("h20", {"row": "10"})
    assert row_of() == {"10": 1}


# -- the commit ------------------------------------------------------------------------


def test_no_race_takes_a_rack_beyond_the_skew(engine: Gantt) -> None:
    group = InstanceGroup(new_uuid(), "soft-affinity")
    won = Counter[str]()
    lock = threading.Lock()

    def ask_often() -> None:
        for _ in range(6):
            request = ask(extra={"gantt:distinct": "rack:3"}, instance_group=group)
            try:
                found = racks(engine, request)
            except GanttError:
                continue
            with lock:
                won.update(found)

    threads = [threading.Thread(target=ask_often) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert won == {f"r{n}": 3 for n in range(4)}
