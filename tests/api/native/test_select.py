"""POST /gantt/select: hosts, claims and refusals."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import ConsumerAllocations
from gantt.scheduler.options import SchedulerOptions
from tests.api.native.fleet import SPEC, TOO_MUCH, A, B, C
from tests.api.wsgi_client import WsgiClient
from tests.scheduler.test_failing_plugins import BrokenFilter

SELECT = "/gantt/select"
READER = {"x-auth-token": "bob:blue", "x-roles": "reader"}


def error_of(client: WsgiClient, body: Any, status: int = 400) -> Any:
    answer = client("POST", SELECT, body=body)
    assert answer.status == status, answer.text
    (error,) = answer.json["errors"]
    return error


def test_selected_hosts_are_claimed(client: WsgiClient, books: Gantt) -> None:
    answer = client(
        "POST", SELECT, body={"request_spec": SPEC, "instance_uuids": [A, B]}
    )
    assert answer.status == 200, answer.text
    assert answer.headers["cache-control"] == "no-cache"
    first, second = answer.json["selections"]
    assert {first[0]["service_host"], second[0]["service_host"]} == {"one", "two"}
    assert first[0]["claim"] == second[0]["claim"] is not None
    assert first[0]["availability_zone"] == "nova"
    consumer = books.get_allocations(A)
    assert consumer is not None
    assert (consumer.project_id, consumer.user_id) == ("blue", "ann")


def test_hosts_reach_a_segment_of_each_network(
    client: WsgiClient, books: Gantt
) -> None:
    books.retune(
        EngineOptions(
            scheduler=SchedulerOptions(
                query_placement_for_routed_network_aggregates=True
            )
        )
    )
    (two,) = (one for one in books.list_hosts() if one.host == "two")
    assert two.provider_uuid is not None
    books.create_provider("segment", uuid=B)
    for uuid in (B, two.provider_uuid):
        books.set_aggregates(
            uuid, (C,), generation=books.get_aggregates(uuid).generation
        )

    def body(**network: Any) -> dict[str, Any]:
        asked = {**SPEC, "requested_networks": [{"network_id": "net", **network}]}
        return {"request_spec": asked}

    (found,) = client("POST", SELECT, body=body(segments=[B])).json["selections"]
    assert [one["service_host"] for one in found] == ["two"]
    (found,) = client("POST", SELECT, body=body(segments=[])).json["selections"]
    assert len(found) == 2
    assert "name the segments" in error_of(client, body())["detail"]
    refused = error_of(client, body(trouble="Neutron is away."), 409)
    assert "net are not known: Neutron is away." in refused["detail"]


def test_alternates_can_be_omitted(client: WsgiClient) -> None:
    body: dict[str, Any] = {"request_spec": SPEC, "instance_uuids": [A]}
    (mine,) = client("POST", SELECT, body={**body, "dry_run": False}).json["selections"]
    assert [one["claim"] is None for one in mine] == [False, True]
    body = {**body, "instance_uuids": [B], "return_alternates": False}
    (mine,) = client("POST", SELECT, body=body).json["selections"]
    assert len(mine) == 1


def test_request_without_instances_claims_nothing(
    client: WsgiClient, books: Gantt
) -> None:
    body = {"request_spec": {**SPEC, "num_instances": 2}}
    found = client("POST", SELECT, body=body).json["selections"]
    assert len(found) == 2
    assert all(one["claim"] is None for mine in found for one in mine)
    assert all(not host.claimed["instances"] for host in books.list_hosts())


@pytest.mark.parametrize(
    "request_spec",
    [
        {
            "nova_object.name": "RequestSpec",
            "nova_object.namespace": "nova",
            "nova_object.version": "1.13",
            "nova_object.data": {
                "num_instances": 1,
                "project_id": "blue",
                "flavor": {
                    "nova_object.name": "Flavor",
                    "nova_object.namespace": "nova",
                    "nova_object.version": "1.2",
                    "nova_object.data": SPEC["flavor"],
                },
            },
        },
        {
            "instance_type": SPEC["flavor"],
            "instance_properties": {"project_id": "blue"},
            "num_instances": 1,
        },
    ],
)
def test_nova_forms_are_accepted(client: WsgiClient, request_spec: Any) -> None:
    body = {"request_spec": request_spec, "instance_uuids": [A]}
    answer = client("POST", SELECT, body=body)
    assert answer.status == 200, answer.text


def test_request_spec_dict_with_filter_properties(client: WsgiClient) -> None:
    body = {
        "request_spec": {"instance_type": SPEC["flavor"]},
        "filter_properties": {"ignore_hosts": ["one"]},
        "instance_uuids": [A],
    }
    ((mine, *_),) = client("POST", SELECT, body=body).json["selections"]
    assert mine["service_host"] == "two"


def test_request_is_on_behalf_of_context_or_caller(
    client: WsgiClient, books: Gantt
) -> None:
    spec = {"flavor": SPEC["flavor"]}
    context = {"request_id": "req-7", "user_id": "bob", "roles": ["reader"]}
    body = {"request_spec": spec, "instance_uuids": [A], "context": context}
    assert client("POST", SELECT, body=body).status == 200
    consumer = books.get_allocations(A)
    assert consumer is not None
    assert (consumer.project_id, consumer.user_id) == ("admin", "bob")
    (record,) = books.decisions(request_id="req-7")
    assert record.instance_uuids == (A,)


def test_dry_run_returns_the_decision_and_claims_nothing(
    client: WsgiClient, books: Gantt
) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A], "dry_run": True}
    found = client("POST", SELECT, body=body).json
    assert found["is_dry_run"] is True
    assert {one["host"] for one in found["scores"]} == {"one", "two"}
    assert "RAMWeigher" in found["scores"][0]["parts"]
    assert found["steps"][0]["before"] == 2
    assert books.get_allocations(A) is None


def test_no_valid_host_is_409_with_reasons(client: WsgiClient) -> None:
    error = error_of(client, {"request_spec": TOO_MUCH, "instance_uuids": [A]}, 409)
    assert error["code"] == "gantt.no_valid_host"
    assert "No valid host was found." in error["detail"]
    assert error["why"]["steps"]
    assert error["why"]["steps"][-1]["after"] == 0
    assert {one["host"] for one in error["why"]["nearest"]} == {"one", "two"}
    body = {"request_spec": TOO_MUCH, "instance_uuids": [A], "dry_run": True}
    dry = client("POST", SELECT, body=body)
    assert dry.status == 200
    assert dry.json["failure"] == "No valid host was found."


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "request_spec"),
        ({"request_spec": []}, "$.request_spec"),
        ({"request_spec": SPEC, "dryrun": True}, "dryrun"),
        ({"request_spec": SPEC, "dry_run": 1}, "$.dry_run"),
        ({"request_spec": SPEC, "lease": 0}, "$.lease"),
        ({"request_spec": SPEC, "lease": 1e9}, "$.lease"),
        ({"request_spec": SPEC, "instance_uuids": [7]}, "$.instance_uuids[0]"),
        (
            {"request_spec": SPEC, "context": {"request_id": "x" * 256}},
            "$.context.request_id",
        ),
        ({"request_spec": {**SPEC, "colour": 1}}, "colour"),
        ({"request_spec": {}}, "request_spec.flavor"),
        ({"request_spec": {"flavor": {"vcpus": "2"}}}, "request_spec.flavor.vcpus"),
        ({"request_spec": {**SPEC, "version": "2.0"}}, "2.0"),
        (b'{"request_spec": ', "Malformed JSON"),
        (b'{"request_spec": {"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"\xff": 1}', "Malformed JSON"),
    ],
)
def test_bad_bodies_are_refused_by_field(
    client: WsgiClient, body: Any, named: str
) -> None:
    assert named in error_of(client, body)["detail"]


def test_other_media_types_are_refused(client: WsgiClient) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A]}
    plain = {"content-type": "text/plain"}
    assert client("POST", SELECT, body=body, headers=plain).status == 415
    html = {"accept": "text/html"}
    assert client("POST", SELECT, body=body, headers=html).status == 406
    assert client("GET", SELECT).headers["allow"] == "POST"
    assert client("POST", f"/placement{SELECT}", body=body).status == 200


def _leak(_hosts: object) -> None:
    raise FileNotFoundError("/etc/secret/db-password")


def test_failing_plugin_is_named(
    client: WsgiClient,
    books: Gantt,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Callers get its name; operators find the reason in the log and the record."""
    monkeypatch.setattr(BrokenFilter, "answer", staticmethod(_leak))
    broken = "tests.scheduler.test_failing_plugins.BrokenFilter"
    caplog.set_level(logging.INFO)
    why = f"The filter {broken} failed in mask: FileNotFoundError: /etc/secret"
    books.decide_by(
        SchedulerOptions(available_filters=(broken,), enabled_filters=("BrokenFilter",))
    )
    body: dict[str, Any] = {"request_spec": SPEC, "instance_uuids": [A]}
    for path, asked in (
        (SELECT, body),
        (SELECT, {**body, "dry_run": True}),
        ("/gantt/capacity", {"request_spec": SPEC}),
    ):
        answer = client("POST", path, body=asked)
        assert answer.status == 500
        (error,) = answer.json["errors"]
        assert error["code"] == "gantt.plugin_failed"
        assert "The filter BrokenFilter failed" in error["detail"]
        assert not any(one in answer.text for one in ("secret", "enabled_", "NotFound"))
        lines = [one for one in caplog.records if why in one.getMessage()]
        (line,) = (one for one in lines if error["request_id"] in one.getMessage())
        assert (line.levelname, line.exc_info) == ("ERROR", None)
        assert "take it out of enabled_filters" in line.getMessage()
    assert len(lines) == 3
    assert len([one for one in caplog.records if one.exc_info]) == 1
    for record in books.decisions():
        assert record.failure is not None and why in record.failure
    seen = client("GET", "/gantt/decisions", headers=READER)
    assert len(seen.json["decisions"]) == 2
    assert "secret" not in seen.text
    assert books.get_allocations(A) is None
    counts = books.counts()
    assert (counts["plugin_failures"], counts["no_valid_host"]) == (2, 0)


@pytest.mark.parametrize("lease", [None, 60])
def test_a_body_that_is_sent_twice_books_once(
    client: WsgiClient, books: Gantt, lease: int | None
) -> None:
    """As after a time-out."""
    body = {"request_spec": SPEC, "instance_uuids": [A, B], "lease": lease}
    first, again = (client("POST", SELECT, body=body) for _ in range(2))
    assert again.status == 200, again.text
    mine = [
        [{**one[0], "age_s": None} for one in answer.json["selections"]]
        for answer in (first, again)
    ]
    assert mine[0] == mine[1]
    assert sum(host.claimed["instances"] for host in books.list_hosts()) == 2
    claim = mine[0][0]["claim"]
    assert client("DELETE", f"/gantt/claims/{claim}").status == 204
    assert books.get_allocations(A) is None and books.get_allocations(B) is None
    assert client("DELETE", f"/gantt/claims/{claim}").status == 404


def test_another_request_for_the_instance_is_refused_unless_it_replaces(
    client: WsgiClient, books: Gantt
) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A]}
    (mine,) = client("POST", SELECT, body=body).json["selections"]
    more = {**SPEC, "flavor": {**SPEC["flavor"], "vcpus": 3}}
    error = error_of(client, {**body, "request_spec": more}, 409)
    assert error["code"] == "gantt.already_claimed"
    assert f"is already on host {mine[0]['service_host']}, claim" in error["detail"]
    answer = client(
        "POST", SELECT, body={**body, "request_spec": more, "replaces": True}
    )
    assert answer.status == 200, answer.text
    consumer = books.get_allocations(A)
    assert consumer is not None and len(consumer.allocations) == 1
    (share,) = consumer.allocations.values()
    assert share.resources["VCPU"] == 3


def test_a_release_frees_what_it_says_or_tells_what_stays(
    client: WsgiClient, books: Gantt
) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A], "lease": 60}
    ((mine, *_),) = client("POST", SELECT, body=body).json["selections"]
    (uuid,) = json.loads(mine["allocation_request"])["allocations"]
    view = books.get_allocations(A)
    assert view is not None
    same = {uuid: view.allocations[uuid].resources}
    for amounts, status in (({uuid: {"VCPU": 1}}, 409), ({}, 404)):
        consumer = ConsumerAllocations(A, amounts, "blue", "ann")
        books.set_allocations([consumer])
        answer = client("DELETE", f"/gantt/claims/{mine['claim']}")
        assert answer.status == status, answer.text
        if status == 409:
            (error,) = answer.json["errors"]
            assert f"{A} has 1 VCPU on {mine['nodename']}" in error["detail"]
    ((mine, *_),) = client("POST", SELECT, body=body).json["selections"]
    (uuid,) = json.loads(mine["allocation_request"])["allocations"]
    same = {uuid: next(iter(same.values()))}
    books.set_allocations([ConsumerAllocations(A, same, "blue", "ann")])
    assert client("DELETE", f"/gantt/claims/{mine['claim']}").status == 204
    assert books.get_allocations(A) is None
