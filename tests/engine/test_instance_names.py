"""Every door refuses the name of an instance that is no uuid, and takes every spelling
of one for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.client import SchedulerClient
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import Forbidden, Invalid, NotFound
from gantt.model.commands import ConsumerAllocations, SetAllocations, UpdateHost
from gantt.model.fleet import CELL, Cell, FleetNames, FleetStatement
from gantt.model.fleet_lists import GroupQuery, HostAggregateQuery, InstanceQuery
from gantt.model.forms.spec import read_spec
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.spec import (
    Destination,
    Flavor,
    InstanceGroup,
    RequestSpec,
    ScheduleRequest,
)
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.api.native.fleet import SPEC, client_of
from tests.engine.test_scheduling import report

NAME = "job-2"
UUID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
SPELLINGS = [UUID.upper(), UUID.replace("-", ""), f"{{{UUID}}}", f"urn:uuid:{UUID}"]
GROUP = "00000002-AAAA-4000-8000-000000000000"
ASKED = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=512, root_gb=1))
CALLS: list[Callable[[Gantt], Any]] = [
    lambda books: books.schedule(ScheduleRequest(ASKED, (NAME,))),
    lambda books: books.decide(ScheduleRequest(ASKED, (NAME,))),
    lambda books: SchedulerClient(books).select_destinations(
        None, ASKED, instance_uuids=[NAME]
    ),
    lambda books: books.update_instances("one", [Instance(NAME)]),
    lambda books: books.sync_instances("one", [NAME]),
    lambda books: books.delete_instance("one", NAME),
    lambda books: books.schedule(ScheduleRequest(_joined(uuid=NAME))),
    lambda books: books.capacity(_joined(members=frozenset({NAME}))),
    lambda books: books.decide(
        ScheduleRequest(replace(ASKED, instance_uuid=NAME), dry_run=True)
    ),
    lambda books: books.set_server_group(ServerGroup(GROUP, members=frozenset({NAME}))),
    lambda books: books.set_server_group(ServerGroup(NAME)),
    lambda books: books.set_host_aggregates([HostAggregate(NAME, "a")]),
    lambda books: books.update_host("one", None, HostStats(uuid=NAME)),
    lambda books: books.set_allocations([_takes(books, NAME)]),
    lambda books: books.reshape([], [_takes(books, NAME)]),
    lambda books: books.create_provider("x", uuid=NAME),
]
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/gantt/select", {"request_spec": SPEC, "instance_uuids": [NAME]}),
    ("POST", "/gantt/instances/one", {"instances": [{"uuid": NAME}]}),
    ("PUT", "/gantt/instances/one", {"instance_uuids": [NAME]}),
    ("DELETE", f"/gantt/instances/one/{NAME}", None),
    ("PUT", "/gantt/hosts/one/one", {"instances": [NAME]}),
    ("PUT", f"/gantt/server_groups/{GROUP}", {"members": [NAME]}),
    ("PUT", f"/gantt/server_groups/{NAME}", {}),
    ("PUT", f"/gantt/aggregates/{NAME}", {"name": "a"}),
    (
        "POST",
        "/gantt/select",
        {"request_spec": {**SPEC, "instance_group": {"members": [NAME]}}},
    ),
    ("POST", "/gantt/capacity", {"request_spec": {**SPEC, "instance_uuid": NAME}}),
]


def _joined(**fields: Any) -> RequestSpec:
    return replace(ASKED, instance_group=InstanceGroup(policy="affinity", **fields))


def _takes(books: Gantt, consumer: str, vcpus: int = 1) -> ConsumerAllocations:
    (host,) = books.list_hosts()
    shares = {str(host.provider_uuid): {"VCPU": vcpus}}
    return ConsumerAllocations(consumer, shares, "p", "u")


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as books:
        report(books, "one")
        yield books


@pytest.mark.parametrize("call", CALLS)
def test_of_the_library(books: Gantt, call: Callable[[Gantt], Any]) -> None:
    with pytest.raises(Invalid, match="must be a UUID, not 'job-2'"):
        call(books)
    assert books.list_instances(InstanceQuery()) == ()


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_over_http(books: Gantt, method: str, path: str, body: Any) -> None:
    answer = client_of(books)(method, path, body=body)
    assert answer.status == 400, answer.text
    assert "must be a UUID, not 'job-2'" in answer.json["errors"][0]["detail"]
    assert books.list_instances(InstanceQuery()) == ()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_one_instance(books: Gantt, spelling: str) -> None:
    ((chosen, *_),) = books.schedule(ScheduleRequest(ASKED, (UUID,)))
    ((again, *_),) = books.schedule(ScheduleRequest(ASKED, (spelling,)))
    assert again.claim == chosen.claim
    assert [one.uuid for one in books.list_instances()] == [UUID]
    (shown,) = books.list_instances(InstanceQuery(uuid=spelling))
    assert shown.uuid == UUID
    (record, *_) = books.decisions(instance_uuid=spelling)
    assert UUID in record.instance_uuids
    books.update_instances("one", [Instance(spelling)])
    assert books.list_instances(InstanceQuery())[0].state == "named"
    assert books.sync_instances("one", [UUID]) is True
    books.set_allocations([_takes(books, spelling, 2)])
    for either in (UUID, spelling):
        found = books.get_allocations(either)
        assert found is not None
        assert [one.resources for one in found.allocations.values()] == [{"VCPU": 2}]
    books.delete_allocations(spelling)
    assert books.get_allocations(UUID) is None


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_one_claim(books: Gantt, spelling: str) -> None:
    ((chosen, *_),) = books.schedule(ScheduleRequest(ASKED, (spelling,), lease_s=60))
    claim = str(chosen.claim)
    books.confirm_claim(claim.upper())
    found = InstanceQuery(claim=claim.upper(), is_claimed=True)
    assert [one.uuid for one in books.list_instances(found)] == [UUID]
    books.release_claim(claim.replace("-", ""))
    assert books.list_instances() == ()


def test_every_spelling_is_one_group_and_one_aggregate(books: Gantt) -> None:
    report(books, "two")
    books.update_instances("one", [Instance(UUID)])
    members = frozenset({SPELLINGS[0]})
    books.set_server_group(ServerGroup(GROUP, policy="anti-affinity", members=members))
    for uuid in (GROUP, GROUP.lower()):
        spec = replace(ASKED, instance_group=InstanceGroup(uuid))
        assert books.capacity(spec).hosts == {"two": 1}
        spec = replace(ASKED, scheduler_hints={"group": (uuid,)})
        assert books.capacity(spec).hosts == {"two": 1}
    (group,) = books.list_server_groups(GroupQuery(member=SPELLINGS[1]))
    assert (group.uuid, group.members) == (GROUP.lower(), frozenset({UUID}))
    books.set_host_aggregates([HostAggregate(GROUP, "a", hosts=frozenset({"two"}))])
    for uuid in (GROUP, GROUP.lower()):
        aim = Destination(aggregates=(frozenset({uuid}),))
        spec = replace(ASKED, requested_destination=aim)
        assert books.capacity(spec).hosts.keys() == {"two"}
    books.delete_server_group(GROUP.replace("-", ""))
    books.delete_host_aggregate(uuid=GROUP.replace("-", ""))
    assert books.list_server_groups() == () == books.list_host_aggregates()


@pytest.mark.parametrize("hint", ["same_host", "different_host"])
def test_every_spelling_is_one_instance_to_a_hint(books: Gantt, hint: str) -> None:
    report(books, "two")
    books.update_instances("one", [Instance(UUID)])
    enabled = (*DEFAULT_FILTERS, "SameHostFilter", "DifferentHostFilter")
    books.decide_by(SchedulerOptions(enabled_filters=enabled))
    spec = replace(ASKED, scheduler_hints={hint: (SPELLINGS[0],)})
    expected = {"one"} if hint == "same_host" else {"two"}
    assert books.capacity(spec).hosts.keys() == expected


def test_what_the_wire_stored_as_written_stays_within_reach(books: Gantt) -> None:
    written = UUID.upper()
    books.submit(SetAllocations((_takes(books, written),)))
    assert books.get_allocations(written) is not None
    assert books.get_allocations(UUID) is None
    assert [one.uuid for one in books.list_instances(InstanceQuery(uuid=written))] == [
        written
    ]
    books.set_allocations([_takes(books, written, 3)])
    found = books.get_allocations(written)
    assert found is not None
    assert [one.resources for one in found.allocations.values()] == [{"VCPU": 3}]
    books.delete_allocations(written)
    with pytest.raises(NotFound):
        books.delete_allocations(written)


def test_of_novas_objects_what_is_no_uuid_is_left_out(books: Gantt) -> None:
    """One odd member in Nova's database fails no build."""
    members = [NAME, SPELLINGS[0]]
    group = {
        "nova_object.name": "InstanceGroup",
        "nova_object.version": "1.11",
        "nova_object.data": {
            "uuid": GROUP,
            "members": members,
            "policy": "affinity",
        },
    }
    found = read_spec({**SPEC, "instance_group": group})
    assert found.instance_group == InstanceGroup(
        GROUP.lower(), "affinity", members=frozenset({UUID})
    )
    books.capacity(found)


def test_a_project_is_asked_for_instances_however_they_are_written(
    books: Gantt,
) -> None:
    books.schedule(ScheduleRequest(replace(ASKED, project_id="blue"), (UUID,)))
    with pytest.raises(Forbidden):
        books.schedule(ScheduleRequest(ASKED, (SPELLINGS[0],), only_project="red"))


def test_a_host_keeps_a_provider_that_was_spelled_otherwise(books: Gantt) -> None:
    """From before there was one form."""
    stats = HostStats(uuid=UUID.upper(), vcpus=4, memory_mb=512, local_gb=10)
    books.submit(UpdateHost("old", "old", stats, ""))
    for uuid in (UUID, *SPELLINGS):
        found = books.update_host("old", None, replace(stats, uuid=uuid, vcpus=8))
        assert found.provider_uuid == UUID.upper()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_disabled_cell_is_that_of_its_hosts_however_it_is_written(
    books: Gantt, spelling: str
) -> None:
    report(books, "one")
    report(books, "two")
    books.update_service(Service("one", cell_uuid=UUID))
    books.update_service(Service("two", cell_uuid=spelling))
    assert books.capacity(ASKED).total > 0
    aim = replace(ASKED, requested_destination=Destination(cell_uuid=spelling))
    assert books.capacity(aim).hosts.keys() == {"one", "two"}
    books.set_fleet(FleetStatement(cells=(Cell(spelling, disabled=True),)))
    assert books.capacity(ASKED).total == 0
    kept = FleetNames(kept_cells=frozenset({spelling}))
    books.set_fleet(FleetStatement(names=kept))
    assert [one.host for one in books.list_hosts()] == ["one", "two"]
    gone = FleetNames(
        frozenset({("one", "one"), ("two", "two")}), cells=frozenset({spelling})
    )
    books.set_fleet(FleetStatement(names=gone))
    cells = [one.host for one in books.list_services() if one.binary == CELL]
    assert cells == [UUID]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_cell_is_deleted_however_it_is_written(books: Gantt, spelling: str) -> None:
    books.update_service(Service(UUID, CELL))
    books.update_service(Service(UUID))
    books.delete_service(spelling, CELL)
    kept = [(one.host, one.binary) for one in books.list_services() if one.host]
    assert kept == [(UUID, "nova-compute")]
    books.delete_service(spelling)  # hosts may have any name, which is as it is
    assert (UUID, "nova-compute") in {(s.host, s.binary) for s in books.list_services()}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_page_begins_after_its_marker_however_that_is_written(
    books: Gantt, spelling: str
) -> None:
    uuids = [f"{first}{UUID[1:]}" for first in "9abf"]
    report(books, "one")
    books.update_instances("one", [Instance(one) for one in uuids])
    for one in uuids:
        books.set_server_group(ServerGroup(one, policy="affinity"))
    books.set_host_aggregates([HostAggregate(one, f"n{one}") for one in uuids])
    instances = books.list_instances(InstanceQuery(marker=spelling))
    groups = books.list_server_groups(GroupQuery(marker=spelling))
    aggregates = books.list_host_aggregates(HostAggregateQuery(marker=spelling))
    for found in (instances, groups, aggregates):
        assert [one.uuid for one in found] == uuids[2:]
