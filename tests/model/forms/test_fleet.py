"""Aggregates, instances, services and server groups in the forms in which they come."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings

from gantt import errors
from gantt.model.forms import fleet
from gantt.model.hosts import HostAggregate, Instance, ServerGroup, Service
from tests.examples import examples
from tests.model.forms import objects
from tests.model.forms.documents import anything

FIELDS: dict[str, Any] = {
    "id": 1,
    "uuid": objects.CELL,
    "name": "fast",
    "hosts": ["h1"],
    "metadata": {"ssd": "true"},
}
AGGREGATE = HostAggregate(
    uuid=objects.CELL,
    name="fast",
    id=1,
    hosts=frozenset({"h1"}),
    metadata={"ssd": "true"},
)
OBJECT = objects.nova("Aggregate", "1.3", **FIELDS)


@pytest.mark.parametrize(
    "form",
    [
        AGGREGATE,
        [AGGREGATE],
        FIELDS,
        (FIELDS,),
        OBJECT,
        [OBJECT],
        objects.nova("AggregateList", "1.3", objects=[OBJECT]),
    ],
)
def test_aggregates(form: Any) -> None:
    assert fleet.read_aggregates(form) == (AGGREGATE,)


@pytest.mark.parametrize(
    ("form", "key"),
    [
        (AGGREGATE, (objects.CELL, 1)),
        (OBJECT, (objects.CELL, 1)),
        (objects.CELL, (objects.CELL, None)),
        (1, (None, 1)),
        ({"id": 1}, (None, 1)),
    ],
)
def test_aggregate_key(form: Any, key: tuple[str | None, int | None]) -> None:
    assert fleet.read_aggregate_key(form) == key


def test_instances() -> None:
    instance = objects.nova(
        "Instance",
        "2.8",
        uuid=objects.INSTANCE,
        flavor=objects.flavor(),
        system_metadata={"image_hw_disk_bus": "virtio", "owner": "x"},
    )
    expected = Instance(
        uuid=objects.INSTANCE,
        facts={"flavorid": "f1", "image_properties": {"hw_disk_bus": "virtio"}},
    )
    listed = objects.nova("InstanceList", "2.6", objects=[instance])
    assert fleet.read_instances(listed) == (expected,)
    assert fleet.read_instances([instance, expected]) == (expected, expected)
    plain = {"uuid": expected.uuid, "facts": expected.facts}
    assert fleet.read_instances(plain) == (expected,)


def test_services() -> None:
    assert fleet.read_service({"host": "h"}) == Service(host="h")
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    micros = int(moment.timestamp()) * 1_000_000
    for seen in ("2026-01-02T03:04:05Z", moment, moment.replace(tzinfo=None), micros):
        found = fleet.read_service({"host": "h", "last_seen_up": seen})
        assert found == Service(host="h", last_seen_up=micros)
    service = objects.nova(
        "Service",
        "1.22",
        host="h",
        binary="nova-compute",
        topic="compute",
        disabled=True,
        forced_down=False,
        version=66,
        availability_zone=None,
    )
    assert fleet.read_service(service) == Service(
        host="h", disabled=True, forced_down=False, version=66, availability_zone=None
    )


def test_server_groups() -> None:
    expected = ServerGroup(
        uuid=objects.GROUP,
        name="g",
        policy="anti-affinity",
        max_server_per_host=3,
        members=frozenset({objects.MEMBER}),
    )
    fields: dict[str, Any] = {
        "uuid": objects.GROUP,
        "name": "g",
        "policy": "anti-affinity",
        "members": [objects.MEMBER],
    }
    rules = {"max_server_per_host": "3"}
    forms = (
        objects.nova("InstanceGroup", "1.11", _rules=rules, **fields),
        {**fields, "rules": {"max_server_per_host": 3}},
        {**fields, "max_server_per_host": 3},
        expected,
    )
    for form in forms:
        assert fleet.read_server_group(form) == expected
        assert fleet.read_group_uuid(form) == objects.GROUP
    assert fleet.read_group_uuid(objects.GROUP) == objects.GROUP


@pytest.mark.parametrize(
    ("read", "value", "named"),
    [
        (fleet.read_aggregates, [{"name": "a"}], "aggregates.0.uuid is missing"),
        (fleet.read_aggregates, 3, "aggregates must be a list, not 3"),
        (
            fleet.read_aggregate_key,
            {},
            "Both aggregate.uuid and aggregate.id are missing",
        ),
        (fleet.read_instances, [{"uuid": "vm"}], "instance_info.0.uuid must be a UUID"),
        (fleet.read_service, {"disabled": True}, "service.host is missing"),
        (fleet.read_service, {"host": "h", "disabled": None}, "service.disabled must"),
        (fleet.read_service, {"host": "h", "forceddown": True}, "'forceddown'"),
        (
            fleet.read_service,
            {"host": "h", "last_seen_up": "noon"},
            "service.last_seen_up must be a time such as .*, not 'noon'",
        ),
        (fleet.read_server_group, {"uuid": objects.GROUP, "polcy": "x"}, "'polcy'"),
        (fleet.read_group_uuid, {}, "group.uuid is missing"),
    ],
)
def test_refusal_names_the_field(
    read: Callable[[Any], Any], value: Any, named: str
) -> None:
    with pytest.raises(errors.Invalid, match=named):
        read(value)


@settings(max_examples=examples(25), deadline=None)
@given(anything())
def test_any_json_raises_only_gantt_errors(document: Any) -> None:
    for read in (
        fleet.read_aggregates,
        fleet.read_aggregate_key,
        fleet.read_instances,
        fleet.read_service,
        fleet.read_server_group,
        fleet.read_group_uuid,
    ):
        for value in (document, {"uuid": objects.CELL, "host": document}):
            try:
                read(value)
            except errors.GanttError as error:
                assert error.message
