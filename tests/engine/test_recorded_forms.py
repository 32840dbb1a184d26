"""Requests that are alike but for their instances are of one kind, which a file has
once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.engine.recording.forms import Forms, Kinds
from gantt.model.record import FORMS
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest

SPEC = RequestSpec(Flavor(2, 2048), project_id="p")
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
    kinds = Kinds()
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
    kinds = Kinds()
    one, two = kinds.of(REQUEST), kinds.of(other)
    assert one.number != two.number
    assert kinds.of(REQUEST) is one
    assert kinds.of(other) is two


def test_a_form_is_written_once_in_a_file() -> None:
    forms, kind = Forms(), Kinds().of(REQUEST)
    form = forms.missing(kind, keeps_names=False)
    assert form is not None
    assert form.number == kind.number
    assert form.request.instance_uuids is None
    assert form.request.spec == SPEC
    assert forms.missing(kind, keeps_names=False) is None
    forms.clear()
    assert forms.missing(kind, keeps_names=False) == form


def test_beyond_the_limit_a_number_gets_another_form() -> None:
    kinds, forms = Kinds(), Forms()
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
