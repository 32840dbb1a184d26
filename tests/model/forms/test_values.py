"""Values built in Python are judged as bodies are: here and over HTTP alike."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.forms import values
from gantt.model.forms.spec import read_spec
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    LabelTerms,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)

ODD: Any = [5, -1, 2**31, 2**63, 2**70, 1.5, math.nan, math.inf, True, "", "x", b"x"]
ODD += [None, [], {}, [[]], object(), uuid4(), "\ud800", "x" * 70_000, ("a", "b")]
GROUP = "00000002-aaaa-4000-8000-000000000000"
SPEC = RequestSpec(Flavor(vcpus=1, memory_mb=512, root_gb=1))


def outcome(judge: Callable[[Any], Any], value: Any) -> Any:
    """What comes of it: the value, or the words of the refusal."""
    try:
        return judge(value)
    except Invalid as error:
        return error.message


def parts() -> dict[Any, Any]:
    """A value of each kind, within a request."""
    return {
        Flavor: lambda one: replace(SPEC, flavor=one),
        Image: lambda one: replace(SPEC, image=one),
        Destination: lambda one: replace(SPEC, requested_destination=one),
        InstanceGroup: lambda one: replace(SPEC, instance_group=one),
        ResourceGroup: lambda one: replace(SPEC, requested_resources=(one,)),
        LabelTerms: lambda one: replace(SPEC, labels=one),
        RequestLevel: lambda one: replace(SPEC, request_level_params=one),
        RequestSpec: lambda one: one,
    }


@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, field) for kind in parts() for field in kind.__struct_fields__],
)
def test_request_fields_are_validated_like_parsed_ones(kind: Any, field: str) -> None:
    for odd in ODD:
        spec = parts()[kind](kind(**{field: odd}))
        fields = values._fields(spec)
        found = outcome(values.spec, spec)
        assert found == outcome(read_spec, fields), odd
        again = ScheduleRequest(spec)
        judged = outcome(values.request, again)
        assert (judged if isinstance(judged, str) else judged.spec) == found


@pytest.mark.parametrize("field", HostStats.__struct_fields__)
def test_report_fields_are_validated_like_parsed_ones(field: str) -> None:
    more: Any = [[{"name": "a", "value": n}] for n in (1, math.nan, 1e39, "x", None)]
    more += [[{"count": n}] for n in (1, -1, 2**40, "1")]
    more += [{"num_instances": n} for n in (1, "3", -1, "x", 2**40)]
    more += [[["a", "b", "c"]], [["a"]], ["x"], {"a": math.inf}, {"a": 2**64}]
    more += ['{"a": 1}', [str(uuid4())], ["a", "b"]]
    for odd in [*ODD, *more]:
        stats = HostStats(**{field: odd})
        judged = outcome(values.stats, stats)
        assert judged == outcome(read_stats, {field: odd}), odd


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=20,
    )
)
def test_validation_agrees_with_parsing_for_any_json(value: Any) -> None:
    stats = {"cpu_info": {"x": value}, "extra_resources": value, "stats": value}
    judged = outcome(values.stats, HostStats(**stats))
    assert judged == outcome(read_stats, stats)


@pytest.mark.parametrize(
    ("judge", "value", "words"),
    [
        (
            values.service,
            Service("h", disabled="x"),  # type: ignore[arg-type]
            "service.disabled must be true or false, not 'x'.",
        ),
        (
            values.server_group,
            ServerGroup("not one"),
            "group.uuid must be a UUID, not 'not one'.",
        ),
        (
            values.aggregates,
            [HostAggregate(5)],  # type: ignore[arg-type]
            "aggregates.0.uuid must be text, not 5.",
        ),
        (
            values.instances,
            [Instance(str(UUID(int=1)), {"x": math.nan})],
            "instance_info.0.facts.x must be a finite number, not nan.",
        ),
        (
            values.spec,
            RequestSpec(Flavor(vcpus="x")),  # type: ignore[arg-type]
            "request_spec.flavor.vcpus must be an integer, not 'x'.",
        ),
        (
            values.request,
            ScheduleRequest("x"),  # type: ignore[arg-type]
            "request_spec must be a RequestSpec, not 'x'.",
        ),
    ],
)
def test_invalid_field_is_named(judge: Any, value: Any, words: str) -> None:
    assert outcome(judge, value) == words


@pytest.mark.parametrize("lease", [math.nan, math.inf, 0, -1, 86_401, "x", True])
def test_lease_is_positive_and_at_most_a_day(lease: Any) -> None:
    with pytest.raises(Invalid, match=r"^lease must be a number"):
        values.request(ScheduleRequest(SPEC, lease_s=lease))


def test_integral_seconds_are_accepted() -> None:
    assert values.request(ScheduleRequest(SPEC, lease_s=30)).lease_s == 30.0


@pytest.mark.parametrize("uuids", ["abc", [5], [""], 5])
def test_instance_ids_are_not_empty(uuids: Any) -> None:
    with pytest.raises(Invalid, match="instance_uuids"):
        values.request(ScheduleRequest(SPEC, uuids))


def test_validated_value_is_a_copy() -> None:
    specs = {"a": "b"}
    judged = values.spec(RequestSpec(Flavor(extra_specs=specs)))
    specs["a"] = 5  # type: ignore[assignment]
    assert judged.flavor.extra_specs == {"a": "b"}


def test_valid_values_round_trip_through_bodies() -> None:
    spec = replace(
        SPEC,
        image=Image(id="i", properties={"hw_disk_bus": "virtio", "n": 5}),
        instance_group=InstanceGroup(GROUP, "affinity", 2, frozenset({GROUP})),
        scheduler_hints={"group": (GROUP,)},
    )
    assert values.spec(spec) == spec == read_spec(json.loads(msgspec.json.encode(spec)))


def test_most_requests_are_validated_without_parsing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader takes ten times as long as all else, on the way of every decision."""
    monkeypatch.delattr(values, "read_spec")
    request = ScheduleRequest(
        replace(SPEC, image=Image(properties={"os_type": "linux"})),
        ("00000001-aaaa-4000-8000-000000000000",),
        lease_s=5.0,
    )
    assert values.request(request) == request
    started = time.thread_time()
    for _ in range(100):
        values.request(request)
    assert time.thread_time() - started < 100 * 0.000_1
