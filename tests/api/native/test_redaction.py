"""Reasons are redacted for callers who may select but are not operators."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from gantt.api.access.access_policy import DefaultPolicy
from gantt.api.app import build_app
from gantt.api.call import Caller
from gantt.api.native.claims import bound_to
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Forbidden
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.api.native.fleet import SPEC, TOO_MUCH, A, B, report
from tests.api.wsgi_client import WsgiClient
from tests.configured import settings_of

MEMBER = {"x-auth-token": "ann:blue", "x-roles": "member"}


@pytest.fixture
def client(books: Gantt, tmp_path: Path) -> WsgiClient:
    """Members may select and count here, by a policy file."""
    (tmp_path / "policy.yaml").write_text(
        '"gantt:select": "role:member or role:admin"\n'
        '"gantt:capacity": "role:member or role:admin"\n'
        '"gantt:usage_history": "role:member or role:admin"\n'
        '"gantt:hosts:choose": "role:chooser or role:admin"\n'
        '"gantt:claims:confirm": "role:member or role:admin"\n'
        '"gantt:claims:release": "role:member or role:admin"\n'
    )
    settings = settings_of(tmp_path, "[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, settings))
    report(client, "one", "two")
    return client


CHOOSER = {**MEMBER, "x-roles": "member,chooser"}


def select(
    client: WsgiClient, spec: Any, *, dry_run: bool = False, headers: Any = MEMBER
) -> Any:
    body = {"request_spec": spec, "instance_uuids": [A], "dry_run": dry_run}
    return client("POST", "/gantt/select", body=body, headers=headers)


def test_members_see_hosts_and_counted_reasons(client: WsgiClient) -> None:
    refused = select(client, TOO_MUCH)
    assert refused.status == 409
    (error,) = refused.json["errors"]
    assert error["why"]["steps"]
    assert error["why"]["nearest"] == []
    assert error["why"]["change"] is None
    # One would help, which they do not see.
    assert msgspec.convert(error["why"], Why).help == ""
    (error,) = select(client, TOO_MUCH, headers={}).json["errors"]
    assert msgspec.convert(error["why"], Why).help.startswith("This would help: ")
    dry = select(client, SPEC, dry_run=True).json
    assert dry["steps"]
    assert dry["scores"] == dry["chosen"] == []
    assert dry["request"] is None, "it may name hosts"
    chosen = select(client, SPEC).json["selections"]
    assert chosen[0][0]["service_host"] in {"one", "two"}


def test_messages_name_no_hosts(client: WsgiClient) -> None:
    hosts = {**TOO_MUCH, "force_hosts": ["secret"]}
    for spec in (hosts, TOO_MUCH):
        (error,) = select(client, spec, headers=CHOOSER).json["errors"]
        assert "No valid host was found." in error["detail"]
        assert "secret" not in error["detail"]
    body = {"request_spec": hosts, "instance_uuids": [A]}
    (error,) = client("POST", "/gantt/select", body=body).json["errors"]
    assert "secret" in error["detail"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("force_hosts", ["one"]),
        ("force_nodes", ["one"]),
        ("ignore_hosts", ["one"]),
        ("retry_hosts", [["one", "one"]]),
        ("requested_destination.host", "one"),
        ("requested_destination.node", "one"),
        ("instance_group.hosts", ["one"]),
        ("requested_resources.in_tree", A),
    ],
)
def test_members_name_no_hosts(client: WsgiClient, field: str, value: Any) -> None:
    """They would learn which there are, and how full each is."""
    name, _, inner = field.partition(".")
    given = {inner: value} if inner else value
    if inner == "in_tree":
        given = [{"requester_id": "a", "resources": {"VCPU": 1}, **given}]
    spec = {**SPEC, name: given}
    one, several = {"request_spec": spec}, {"request_specs": [SPEC, spec]}
    for path, body in (
        ("/gantt/select", {**one, "instance_uuids": [A], "dry_run": True}),
        ("/gantt/select", {**one, "instance_uuids": [A]}),
        ("/gantt/capacity", one),
        ("/gantt/capacity/prices", one),
        ("/gantt/capacity/fair", several),
        ("/gantt/capacity/runs-out", several),
    ):
        refused = client("POST", path, body=body, headers=MEMBER)
        assert refused.status == 403, path
        (error,) = refused.json["errors"]
        assert f"names hosts ({field})" in error["detail"]
        assert "gantt:hosts:choose" in error["detail"]
        for headers in (CHOOSER, {}):
            answer = client("POST", path, body=body, headers=headers)
            assert answer.status != 403, (path, answer.text)


def test_hosts_in_filter_properties_are_named_as_well(client: WsgiClient) -> None:
    old = {"instance_type": {"vcpus": 1, "memory_mb": 1, "root_gb": 1}}
    body = {"request_spec": old, "filter_properties": {"force_hosts": ["one"]}}
    refused = client("POST", "/gantt/capacity", body=body, headers=MEMBER)
    accepted = client("POST", "/gantt/capacity", body=body, headers=CHOOSER)
    assert (refused.status, accepted.status) == (403, 200)


def test_a_destination_without_a_host_names_none(client: WsgiClient) -> None:
    aims: tuple[Any, ...] = ({"aggregates": []}, None)
    for aim in aims:
        spec = {**SPEC, "requested_destination": aim}
        assert select(client, spec, dry_run=True).status == 200


def claimed(client: WsgiClient, instance: str, project: str, **more: Any) -> str:
    body = {
        "request_spec": {**SPEC, "project_id": project},
        "instance_uuids": [instance],
        "lease": 600,
        **more,
    }
    answer = client("POST", "/gantt/select", body=body)
    return str(answer.json["selections"][0][0]["claim"])


def test_members_change_only_claims_of_their_project(client: WsgiClient) -> None:
    own, other = claimed(client, A, "blue"), claimed(client, B, "red")
    for claim, confirmed, released in (
        (other, 409, 404),
        ("none", 409, 404),
        (own, 204, 204),
    ):
        path = f"/gantt/claims/{claim}"
        answers = [
            client("POST", f"{path}/confirm", headers=MEMBER),
            client("DELETE", path, headers=MEMBER),
        ]
        assert [one.status for one in answers] == [confirmed, released]
        told = [one.text.replace(claim, "-") for one in answers]
        assert all("another project" in one for one in told) == (claim != own)
    # Operators may change any.
    assert client("POST", f"/gantt/claims/{other}/confirm").status == 204
    assert client("DELETE", f"/gantt/claims/{other}").status == 204


def test_claims_without_project_are_for_operators(
    books: Gantt,
) -> None:
    assert books.claim_projects("none") == frozenset()
    options = EngineOptions(scheduler=SchedulerOptions(use_placement="never"))
    with open_gantt("memory://", options) as other:
        other.update_service(Service("h"))
        other.update_host("h", "h", HostStats(vcpus=8, memory_mb=9999, local_gb=99))
        request = ScheduleRequest(RequestSpec(Flavor(vcpus=1), project_id="blue"), (A,))
        claim = other.schedule(request)[0][0].claim
        assert claim is not None
        assert other.claim_projects(claim) == {None}


def asked(client: WsgiClient, instance: str, spec: Any, **more: Any) -> Any:
    body = {"request_spec": spec, "instance_uuids": [instance], **more}
    return client("POST", "/gantt/select", body=body, headers=MEMBER)


PLAIN = {"flavor": SPEC["flavor"]}


def test_members_select_only_for_their_project(client: WsgiClient) -> None:
    red = {**PLAIN, "project_id": "red"}
    told = [
        asked(client, A, PLAIN, context={"project_id": "red"}),
        asked(client, A, red),
        asked(client, A, red, dry_run=True),
        asked(client, A, SPEC, context={"project_id": "red"}),
        client("POST", "/gantt/capacity", body={"request_spec": red}, headers=MEMBER),
    ]
    for answer in told:
        assert answer.status == 403
        assert "project red" in answer.detail
        assert "project blue" in answer.detail
    assert client("GET", f"/allocations/{A}").json["allocations"] == {}
    assert asked(client, A, PLAIN).status == 200
    held = client("GET", f"/allocations/{A}", version=39).json
    assert held["project_id"] == "blue"


def test_callers_without_project_cannot_select() -> None:
    door = SimpleNamespace(policy=DefaultPolicy())
    member: Any = SimpleNamespace(door=door, caller=Caller("bob", roles=("member",)))
    with pytest.raises(Forbidden, match="Authenticate with a project"):
        bound_to(member)
    admin: Any = SimpleNamespace(door=door, caller=Caller("ann", roles=("admin",)))
    assert bound_to(admin) is None


@pytest.mark.parametrize("is_leased", [True, False])
def test_members_cannot_take_over_instances_of_other_projects(
    client: WsgiClient, is_leased: bool
) -> None:
    claim = claimed(client, A, "red")
    if not is_leased:
        assert client("POST", f"/gantt/claims/{claim}/confirm").status == 204
    before = client("GET", f"/allocations/{A}", version=39).json
    answer = asked(client, A, PLAIN, lease=1)
    assert answer.status == 403
    assert "not belong to project blue" in answer.detail
    assert "red" not in answer.detail
    assert client("GET", f"/allocations/{A}", version=39).json == before
    # Members may replace their own, and operators any.
    assert asked(client, B, PLAIN, lease=1).status == 200
    assert asked(client, B, PLAIN, lease=1).status == 200
    assert asked(client, B, PLAIN).status == 409
    assert asked(client, B, PLAIN, replaces=True).status == 200
    assert claimed(client, B, "red", replaces=True)
    assert asked(client, B, PLAIN, replaces=True).status == 403


def test_members_see_how_many_fit_but_not_where(client: WsgiClient) -> None:
    body = {"request_spec": PLAIN}
    whole = client("POST", "/gantt/capacity", body=body).json
    told = client("POST", "/gantt/capacity", body=body, headers=MEMBER).json
    assert whole["hosts"].keys() == {"one", "two"}
    assert told == {**whole, "hosts": {}, "nearest": [], "change": None}


def test_members_see_what_their_own_request_costs(client: WsgiClient) -> None:
    body = {"request_spec": {**PLAIN, "availability_zone": "nova"}}
    whole = client("POST", "/gantt/capacity/prices", body=body).json
    told = client("POST", "/gantt/capacity/prices", body=body, headers=MEMBER).json
    assert {one["kind"] for one in whole["prices"]} == {"request", "filter"}
    assert [one["name"] for one in told["prices"]] == ["zone"]


def test_members_see_a_split_but_not_its_hosts(client: WsgiClient) -> None:
    body = {"request_specs": [PLAIN]}
    told = client("POST", "/gantt/capacity/fair", body=body, headers=MEMBER).json
    whole = client("POST", "/gantt/capacity/fair", body=body).json
    (mine,), (all_of_it,) = told["splits"][0]["shares"], whole["splits"][0]["shares"]
    assert all_of_it["hosts"].keys() == {"one", "two"}
    assert mine == {**all_of_it, "hosts": {}, "aggregates": {}}


def test_members_see_until_when_room_lasts_but_no_aggregate(
    client: WsgiClient, books: Gantt
) -> None:
    books.set_host_aggregates([HostAggregate(A, "secret", None, frozenset(["one"]))])
    body = {"request_specs": [PLAIN], "by": "aggregate"}
    whole = client("POST", "/gantt/capacity/runs-out", body=body).json
    told = client("POST", "/gantt/capacity/runs-out", body=body, headers=MEMBER).json
    assert {one["where"] for one in whole["outlooks"]} == {"secret"}
    assert told["outlooks"] == [{**one, "where": ""} for one in whole["outlooks"]]


@pytest.mark.parametrize("question", ["capacity/fair", "capacity/runs-out"])
def test_members_learn_of_no_host_from_a_refusal(
    client: WsgiClient, question: str
) -> None:
    body = {"request_specs": [{**PLAIN, "force_hosts": ["nope"]}]}
    whole = client("POST", f"/gantt/{question}", body=body)
    told = client("POST", f"/gantt/{question}", body=body, headers=CHOOSER)
    assert whole.status == told.status == 409
    assert "nope" in whole.text
    assert "nope" not in told.text
    assert "No valid host was found" in told.text
