"""The native route that explains why a request has no candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import gantt
from gantt.api.app import build_app
from gantt.api.wire.microversion import is_asked
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model.diagnosis import Diagnosis, document
from tests.api.wsgi_client import WsgiClient

HOST, CHILD = (f"0000000{n}-0000-4000-8000-000000000000" for n in (1, 2))
EXPLAIN = "/gantt/candidates/explain"
QUERY = "resources=VCPU:12&required=HW_CPU_X86_AVX2"


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as books:
        books.create_provider("host", uuid=HOST)
        books.create_provider("cell", uuid=CHILD, parent_uuid=HOST)
        books.set_inventories(HOST, {"MEMORY_MB": gantt.Inventory(512)})
        books.set_inventories(CHILD, {"VCPU": gantt.Inventory(8, max_unit=16)})
        books.set_traits(CHILD, ["HW_CPU_X86_AVX2"])
        yield books


@pytest.fixture
def client(books: Gantt) -> WsgiClient:
    return WsgiClient(build_app(books, load(environ={}, default_auth="noauth2")))


def test_diagnosis_has_reasons_and_advice(client: WsgiClient) -> None:
    answer = client("GET", f"{EXPLAIN}?{QUERY}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["openstack-api-version"] == "placement 1.39"
    assert answer.headers["vary"] == "openstack-api-version"
    assert answer.headers["cache-control"] == "no-cache"
    body = answer.json
    assert body["has_candidates"] is False
    assert (body["providers"], body["trees"], body["viable"]) == (2, 1, 0)
    amount, required = body["groups"][0]["constraints"]
    assert amount["text"] == "12 VCPU"
    assert amount["passed"] == {"providers": 0, "trees": 0}
    assert required["text"] == "trait HW_CPU_X86_AVX2"
    assert required["passed"] == {"providers": 1, "trees": 1}
    assert [lack["text"] for lack in body["misses"][0]["lacks"]] == [
        "cell: 0 of 8 VCPU in use (12 asked)"
    ]
    assert body["relaxation"] == {
        "kind": "amount",
        "suffix": "",
        "names": ["VCPU"],
        "amount": 12,
        "lowered": 8,
        "text": "ask for 8 instead of 12 VCPU",
    }
    assert client("GET", f"/placement{EXPLAIN}?{QUERY}").body == answer.body


def test_diagnosis_equals_that_of_the_library(books: Gantt, client: WsgiClient) -> None:
    labels = gantt.Labels(required=(frozenset({"HW_CPU_X86_AVX2"}),))
    group = gantt.RequestGroup(resources={"VCPU": 12}, traits=labels)
    found = books.explain_candidates(gantt.CandidateRequest(groups=(group,)))
    assert isinstance(found, Diagnosis)
    answer = client("GET", f"{EXPLAIN}?{QUERY}")
    assert answer.body.decode() == json.dumps(document(found))


def test_query_is_read_at_the_requested_microversion(client: WsgiClient) -> None:
    query = "resources=VCPU:1,MEMORY_MB:1"
    assert client("GET", f"{EXPLAIN}?{query}").json["has_candidates"] is True
    old = client("GET", f"{EXPLAIN}?{query}", version=28)
    assert old.headers["openstack-api-version"] == "placement 1.28"
    assert old.json["has_candidates"] is False
    assert old.json["relaxation"]["text"] == "ask at microversion 1.29 or later"
    other = {"openstack-api-version": "compute 2.1"}
    answer = client("GET", f"{EXPLAIN}?{query}", headers=other)
    assert answer.headers["openstack-api-version"] == "placement 1.39"
    assert client("GET", f"{EXPLAIN}?{query}", version=9).status == 404
    assert client("GET", f"{EXPLAIN}?{query}", version=16).status == 200
    assert client("GET", f"{EXPLAIN}?{QUERY}", version=16).status == 400


@pytest.mark.parametrize(
    "query",
    [
        "",
        "resources=VCPU",
        "resources=CUSTOM_X:1",
        "resources=VCPU:1&required=CUSTOM_X",
        "resources=VCPU:1&nonsense=1",
        "resources=VCPU:1&resources1=VCPU:1&resources2=VCPU:1",
    ],
)
def test_errors_equal_those_of_allocation_candidates(
    client: WsgiClient, query: str
) -> None:
    def told(path: str) -> Any:
        answer = client("GET", f"{path}?{query}", version=39)
        (error,) = answer.json["errors"]
        return answer.status, error["code"], error["detail"]

    assert told(EXPLAIN) == told("/allocation_candidates")
    assert told(EXPLAIN)[0] == 400


def test_diagnosis_needs_permission_to_list_candidates(client: WsgiClient) -> None:
    def status(path: str, **headers: str | None) -> int:
        names = {key.replace("_", "-"): value for key, value in headers.items()}
        return client("GET", f"{path}?{QUERY}", version=39, headers=names).status

    for headers, expected in (
        ({"x_auth_token": "somebody:project"}, 403),
        ({"x_auth_token": None}, 401),
        ({"accept": "text/html"}, 406),
    ):
        assert status("/allocation_candidates", **headers) == expected
        assert status(EXPLAIN, **headers) == expected
    answer = client("POST", EXPLAIN, version=39)
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


def test_too_many_constraints_are_refused(client: WsgiClient) -> None:
    traits = ",".join(f"!CUSTOM_{number}" for number in range(100))
    query = f"resources=VCPU:99&member_of={HOST}&required={traits}"
    answer = client("GET", f"{EXPLAIN}?{query}")
    assert answer.status == 400
    assert "102 constraints, and at most 100" in answer.detail


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, False),
        ("", False),
        ("compute 2.1", False),
        ("placement 1.10", True),
        ("compute 2.1, placement latest", True),
    ],
)
def test_is_asked(header: str | None, expected: bool) -> None:
    assert is_asked(header) is expected
