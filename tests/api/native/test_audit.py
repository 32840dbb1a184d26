"""The audit over HTTP: findings, a repair, its record, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.model.commands import ConsumerAllocations, SetAllocations
from gantt.model.names import canonical_uuid
from tests.api.native.fleet import STATS, A, B
from tests.api.wsgi_client import WsgiClient

AUDIT, REPAIRS = "/gantt/audit", "/gantt/audit/repairs"
NO_GRACE = f"{AUDIT}?grace_s=0"


@pytest.fixture
def found(books: Gantt, client: WsgiClient) -> Any:
    """Host one lists nothing, and A has allocations there."""
    (view,) = books.list_hosts(host="one")
    assert view.provider_uuid is not None
    there = {view.provider_uuid: {"VCPU": 1}}
    books.submit(SetAllocations((ConsumerAllocations(A, there, "blue", "ann"),)))
    fields = {**STATS, "instances": [], "lists_instances": True}
    report = {"host": "one", "node": "one", "incarnation": "i", "sequence": 1}
    consumer = books.read(lambda state: state.consumers.find(A))
    assert consumer is not None
    report |= {"taken_at": consumer.created_at, "full": True, "fields": fields}
    told = client("POST", "/gantt/reports", body={"reports": [report]})
    assert told.json["outcomes"][0]["outcome"] == "applied", told.text
    (one,) = client("GET", NO_GRACE).json["findings"]
    return one


def test_what_is_found(client: WsgiClient, found: Any) -> None:
    assert (found["kind"], found["host"]) == ("no_workload", "one")
    assert found["instance_uuid"] == A
    (provider,) = found["allocations"]
    assert canonical_uuid(provider) and found["allocations"][provider] == {"VCPU": 1}
    young = client("GET", AUDIT).json
    assert (young["findings"], young["hosts"], young["listing"]) == ([], 2, 1)
    assert young["silent"] == {"no_list": 1}


def test_kinds_and_a_host_are_chosen(client: WsgiClient, found: Any) -> None:
    def asked(words: str) -> Any:
        return client("GET", f"{NO_GRACE}&{words}").json["findings"]

    assert asked("kinds=no_claim,no_workload") == asked("host=one") == [found]
    assert asked("kinds=no_claim") == asked("host=two") == []
    refused = client("GET", f"{AUDIT}?host=tow")
    assert refused.status == 400 and "'tow' is not known here" in refused.text


def test_a_repair_and_its_record(client: WsgiClient, books: Gantt, found: Any) -> None:
    body = {"finding": found, "grace_s": 0}
    answer = client("POST", REPAIRS, body=body, headers={"x-openstack-request-id": "r"})
    assert (answer.status, answer.json) == (200, found)
    assert books.get_allocations(A) is None
    path = f"/gantt/decisions?instance_uuid={A}"
    (record,) = client("GET", path).json["decisions"]
    assert (record["driver"], record["repair"]) == ("audit", found)
    assert record["project_id"] == "blue" and record["request_id"]
    assert books.counts()["audit_repairs"] == 1
    again = client("POST", REPAIRS, body=body)
    assert (again.status, "changed since" in again.detail) == (409, True)
    assert books.counts()["audit_repairs"] == 1


def test_a_young_finding_is_not_repaired(client: WsgiClient, found: Any) -> None:
    assert client("POST", REPAIRS, body={"finding": found}).status == 409


@pytest.mark.parametrize(
    "asked",
    [
        "grace_s=-1",
        "grace_s=never",
        "limit=0",
        "limit=10001",
        "colour=red",
        "kinds=red",
    ],
)
def test_odd_questions_are_refused(client: WsgiClient, asked: str) -> None:
    answer = client("GET", f"{AUDIT}?{asked}")
    assert (answer.status, asked.partition("=")[0] in answer.detail) == (400, True)


@pytest.mark.parametrize(
    "finding",
    [
        {},
        {"kind": "colour"},
        {"kind": "no_workload", "instance_uuid": 5},
        {"kind": "no_workload", "allocations": {"a": 5}},
    ],
)
def test_odd_findings_are_refused(client: WsgiClient, finding: Any) -> None:
    assert client("POST", REPAIRS, body={"finding": finding}).status == 400


@pytest.mark.parametrize(
    "kind", ["no_workload", "no_claim", "inventory_drift", "host_gone"]
)
def test_findings_that_name_nothing_known(client: WsgiClient, kind: str) -> None:
    body = {"finding": {"kind": kind, "instance_uuid": B, "provider_uuid": B}}
    assert client("POST", REPAIRS, body=body).status == 409


def test_a_host_that_is_gone_is_repaired_only_where_the_body_names_it(
    client: WsgiClient, books: Gantt, found: Any
) -> None:
    books.delete_host("one", "one")
    (gone,) = client("GET", f"{NO_GRACE}&kinds=host_gone").json["findings"]
    body = {"finding": gone, "grace_s": 0}
    refused = client("POST", REPAIRS, body=body)
    assert (refused.status, "name the kind host_gone" in refused.detail) == (409, True)
    assert books.get_allocations(A) is not None
    body["kinds"] = ["host_gone"]
    assert client("POST", REPAIRS, body=body).status == 200
    assert books.get_allocations(A) is None
