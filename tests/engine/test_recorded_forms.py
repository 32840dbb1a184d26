"""Requests that are alike but for their instances are of one kind, which a file has
once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.engine.recording.request_forms import (
    _MOST_BYTES,
    CommonRequests,
    RequestForms,
)
from gantt.model.record import FORMS
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    NetworkMetadata,
    RequestedNetwork,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)

SPEC = RequestSpec(Flavor(2, 2048), project_id="p", ignore_hosts=("x", "y"))
REQUEST = ScheduleRequest(SPEC, ("a",), request_id="req-1")


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, instance_uuids=("b",)),
        replace(REQUEST, request_id="req-2"),
        replace(REQUEST, user_id="u"),
        replace(REQUEST, spec=replace(SPEC, instance_uuid="i")),
        replace(REQUEST, spec=replace(SPEC, user_id="u")),
    ],
    ids=["instances", "request id", "user", "instance of the spec", "user of the spec"],
)
def test_of_one_kind(other: ScheduleRequest) -> None:
    kinds = CommonRequests()
    assert kinds.of(REQUEST) is kinds.of(other)


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, dry_run=True),
        replace(REQUEST, spec=replace(SPEC, project_id="q")),
        replace(REQUEST, spec=replace(SPEC, flavor=Flavor(2, 4096))),
        replace(REQUEST, spec=replace(SPEC, scheduler_hints={"a": ("b",)})),
        replace(REQUEST, spec=replace(SPEC, scheduler_hints={"a": ("b" * 5000,)})),
    ],
    ids=["dry run", "project", "flavor", "hints", "many hints"],
)
def test_of_another_kind(other: ScheduleRequest) -> None:
    kinds = CommonRequests()
    one, two = kinds.of(REQUEST), kinds.of(other)
    assert one.number != two.number
    assert kinds.of(REQUEST) is one
    assert kinds.of(other) is two


def test_a_form_is_written_once_in_a_file() -> None:
    forms, kind = RequestForms(), CommonRequests().of(REQUEST)
    form = forms.missing(kind, keeps_names=False)
    assert form is not None
    assert form.number == kind.number
    assert form.request == replace(REQUEST, instance_uuids=None, request_id="")
    assert forms.missing(kind, keeps_names=False) is None
    forms.clear()
    assert forms.missing(kind, keeps_names=False) == form


def test_a_form_has_all_that_is_in_common() -> None:
    """Each field, with the type that it has in the request."""
    spec = RequestSpec(
        Flavor(1, extra_specs={"trait:A": "required"}),
        Image("i", properties={"hw_machine_type": "q35", "traits_required": ["A"]}),
        requested_destination=Destination("h", aggregates=(frozenset("a"),)),
        retry_hosts=(("h", "n"),),
        instance_group=InstanceGroup("g", "affinity", members=frozenset("m")),
        scheduler_hints={"different_host": ("a", "b")},
        requested_resources=(ResourceGroup("r", {"VCPU": 1}),),
        request_level_params=RequestLevel(same_subtree=(frozenset("s"),)),
        requested_networks=(RequestedNetwork("n", segments=frozenset("s")),),
        network_metadata=NetworkMetadata(frozenset("p")),
        numa_topology={"cells": [{"id": 0}]},
        pci_requests=({"count": 1},),
    )
    request = ScheduleRequest(spec, lease_s=2.5, project_id="p", only_project="p")
    form = RequestForms().missing(CommonRequests().of(request), keeps_names=False)
    assert form is not None
    assert form.request == request


def test_a_kind_stays_as_it_was_decided() -> None:
    """A plug-in may change a request that it is given; others have the form then."""
    specs = {"a": "1"}
    kind = CommonRequests().of(ScheduleRequest(RequestSpec(Flavor(extra_specs=specs))))
    specs["a"] = "2"
    form = RequestForms().missing(kind, keeps_names=False)
    assert form is not None
    assert form.request.spec.flavor.extra_specs == {"a": "1"}


def test_large_requests_are_not_kept_for_long() -> None:
    """Their form is written again where they come again, under another number."""
    kinds, forms = CommonRequests(), RequestForms()
    half = _MOST_BYTES // 2 // 50_000 + 1
    large = [
        replace(REQUEST, spec=replace(SPEC, scheduler_hints={"a": (text,) * count}))
        for text, count in (("0", 1), ("1" * 50_000, half), ("2" * 50_000, half))
    ]
    found = [kinds.of(one) for one in large]
    assert [one.number for one in found] == [0, 1, 2]
    assert kinds.of(large[2]) is found[2]
    again = kinds.of(large[0])
    assert again.number == 3
    for kind in (*found, again):
        assert forms.missing(kind, keeps_names=True) is not None


def test_beyond_the_limit_a_number_gets_another_form() -> None:
    kinds, forms = CommonRequests(), RequestForms()
    many = [
        replace(REQUEST, spec=replace(SPEC, project_id=f"p{number}"))
        for number in range(FORMS + 1)
    ]
    found = [kinds.of(one) for one in many]
    assert [one.number for one in found] == [*range(FORMS), 0]
    written = [forms.missing(one, keeps_names=False) for one in found]
    assert [one.request.spec.project_id for one in written if one] == [
        one.spec.project_id for one in many
    ]
    again = forms.missing(kinds.of(many[0]), keeps_names=False)
    assert again is not None
    assert (again.number, again.request.spec.project_id) == (1, "p0")
    late = forms.missing(found[0], keeps_names=False)
    assert late is not None, "it waited in the queue, and its number has another form"
    assert (late.number, late.request.spec.project_id) == (0, "p0")
