"""POST /gantt/select as a dry run of a changed request, and the request in records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.native.fleet import SPEC, TOO_MUCH, A, B
from tests.api.wsgi_client import WsgiClient

SELECT = "/gantt/select"


def dry_run(client: WsgiClient, spec: Any, *given_up: Any, status: int = 200) -> Any:
    body = {"request_spec": spec, "dry_run": True, "given_up": list(given_up)}
    answer = client("POST", SELECT, body=body)
    assert answer.status == status, answer.text
    return answer.json


def refused(client: WsgiClient, spec: Any) -> Any:
    """The record of a refusal, which names a change that helps."""
    found = dry_run(client, spec)
    assert found["failure"] is not None and found["why"]["given_up"]
    return found


IN_NO_ZONE = {**SPEC, "availability_zone": "mars"}
IGNORED = {**SPEC, "ignore_hosts": ["one", "two"]}
XEN = {"capabilities:hypervisor_type": "s== Xen"}
TRAIT = {"trait:HW_CPU_X86_AVX2": "required"}
WITH_TRAIT = {**SPEC, "flavor": {**SPEC["flavor"], "extra_specs": TRAIT}}
TOO_MANY = {**SPEC, "num_instances": 50}


@pytest.mark.parametrize("spec", [TOO_MUCH, IGNORED, WITH_TRAIT, TOO_MANY])
def test_the_change_that_helps_helps(client: WsgiClient, spec: Any) -> None:
    """The record of a refusal has all that a dry run of the changed request takes."""
    record = refused(client, spec)
    asked = record["request"]["request_spec"]
    found = dry_run(client, asked, *record["why"]["given_up"])
    assert found["failure"] is None
    assert len(found["chosen"]) == found["request"]["request_spec"].get(
        "num_instances", 1
    )
    # What was changed is in the record of the dry run, and can be tried by itself.
    again = dry_run(client, found["request"]["request_spec"])
    assert again["failure"] is None
    assert again["request"] == found["request"]


def test_a_filter_is_left_out_of_one_dry_run(client: WsgiClient) -> None:
    spec = {**SPEC, "flavor": {**SPEC["flavor"], "extra_specs": XEN}}
    name = "ComputeCapabilitiesFilter"
    off = {"kind": "filter", "suffix": None, "names": [name]}
    assert dry_run(client, spec)["failure"] is not None
    found = dry_run(client, spec, off)
    assert found["failure"] is None
    assert found["request"]["filters_off"] == [name]
    assert name not in [one["name"] for one in found["steps"]]
    assert dry_run(client, spec)["failure"] is not None


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "zone", "suffix": None, "names": ["venus"]},
        {"kind": "zone", "suffix": None, "names": []},
        {"kind": "image_property", "suffix": None, "names": ["hw_x"]},
        {"kind": "nothing", "suffix": None, "names": []},
        {"kind": "together", "suffix": ""},
        {"kind": "nested", "suffix": ""},
        {"kind": "amount", "suffix": "", "names": ["VCPU"], "amount": 2, "lowered": 2},
        {"kind": "amount", "suffix": "", "names": ["VCPU"], "amount": 2, "lowered": -1},
        {"kind": "amount", "suffix": "", "names": ["VCPU"], "amount": 3, "lowered": 1},
        {"kind": "instances", "suffix": None, "amount": 1, "lowered": 0},
        {"kind": "instances", "suffix": None, "amount": 1},
        {"kind": "devices", "suffix": None, "names": [], "amount": 9, "lowered": 1},
        {"kind": "filter", "suffix": None, "names": ["NoFilter"]},
        {"kind": "filter", "suffix": None, "names": []},
        {"kind": "<script>", "suffix": None},
        {"kind": "filter", "suffix": None, "names": ["x" * 100_000]},
        {"kind": "zone", "suffix": None, "names": ["x" * 100_000]},
        {"suffix": 3},
        "zone",
    ],
)
def test_what_is_not_asked_for_cannot_be_given_up(
    client: WsgiClient, change: Any
) -> None:
    (error,) = dry_run(client, SPEC, change, status=400)["errors"]
    assert "given_up" in error["detail"]
    assert len(error["detail"]) < 2_000


def test_only_a_dry_run_gives_up(client: WsgiClient) -> None:
    change = {"kind": "zone", "suffix": None, "names": ["mars"]}
    body = {"request_spec": IN_NO_ZONE, "instance_uuids": [A], "given_up": [change]}
    answer = client("POST", SELECT, body=body)
    assert answer.status == 400
    assert "dry run" in answer.json["errors"][0]["detail"]
    many = dry_run(client, IN_NO_ZONE, *[change] * 9, status=400)
    assert "the limit is 8" in many["errors"][0]["detail"]


def test_claims_keep_their_request_too(client: WsgiClient) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A, B]}
    assert client("POST", SELECT, body=body).status == 200
    body = {"request_spec": TOO_MUCH, "instance_uuids": [A]}
    assert client("POST", SELECT, body=body).status == 409
    latest, first = client("GET", "/gantt/decisions").json["decisions"]
    assert latest["request"]["request_spec"]["flavor"]["memory_mb"] == 999_999
    kept = first["request"]["request_spec"]
    assert (kept["num_instances"], kept["project_id"]) == (2, "blue")
    assert SPEC["flavor"].items() <= kept["flavor"].items()
    assert "user_id" not in kept
