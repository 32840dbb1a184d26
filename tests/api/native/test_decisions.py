"""Decisions over HTTP, and their redaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gantt.connection import open_gantt
from gantt.store import schema
from tests.api.native.fleet import SPEC, TOO_MUCH, A, B, C, client_of, report
from tests.api.wsgi_client import WsgiClient

PATH = "/gantt/decisions"
BLUE = {"x-auth-token": "bob:blue", "x-roles": "reader"}
RED = {"x-auth-token": "eve:red", "x-roles": "reader,member"}


@pytest.fixture
def decided(client: WsgiClient) -> WsgiClient:
    """The client, after two decisions for the project blue and one for red."""
    for spec, uuid, name in (
        (SPEC, A, "req-1"),
        (TOO_MUCH, B, "req-2"),
        ({**SPEC, "project_id": "red"}, C, "req-3"),
    ):
        body = {
            "request_spec": spec,
            "instance_uuids": [uuid],
            "context": {"request_id": name},
        }
        client("POST", "/gantt/select", body=body)
    return client


def records(client: WsgiClient, query: str = "", **headers: Any) -> Any:
    answer = client("GET", PATH + query, **headers)
    assert answer.status == 200, answer.text
    return answer.json["decisions"]


def test_latest_decisions_come_first(decided: WsgiClient) -> None:
    def names(query: str = "") -> list[str]:
        return [one["request_id"] for one in records(decided, query)]

    assert names() == ["req-3", "req-2", "req-1"]
    assert names("?limit=1") == ["req-3"]
    assert names("?limit=0") == []
    assert names("?request_id=req-2") == ["req-2"]
    assert names(f"?instance_uuid={A}") == ["req-1"]
    assert names(f"?instance_uuid={A}&request_id=req-2") == []


def test_operators_see_complete_decisions(decided: WsgiClient) -> None:
    (record,) = records(decided, "?request_id=req-1")
    assert {one["host"] for one in record["scores"]} == {"one", "two"}
    assert record["chosen"][0][0]["claim"]
    (failed,) = records(decided, "?request_id=req-2")
    assert {near["host"] for near in failed["why"]["nearest"]} == {"one", "two"}


def test_readers_see_counts_of_their_own_project_only(decided: WsgiClient) -> None:
    failed, record = records(decided, headers=BLUE)
    assert (record["request_id"], failed["request_id"]) == ("req-1", "req-2")
    assert record["scores"] == record["chosen"] == []
    assert [step["before"] for step in record["steps"]] == [2] * len(record["steps"])
    assert failed["failure"] == "No valid host was found."
    assert failed["why"]["steps"]
    why = failed["why"]
    assert (why["nearest"], why["books"], why["change"]) == ([], None, None)
    text = decided("GET", PATH, headers=BLUE).text
    assert '"one"' not in text
    assert '"two"' not in text
    (only,) = records(decided, "?limit=1", headers=RED)
    assert only["request_id"] == "req-3"
    assert records(decided, f"?instance_uuid={A}", headers=RED) == []


def test_shared_decisions_are_redacted_as_well(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'books.db'}"
    schema.sync(url)
    with open_gantt(url) as books, open_gantt(url) as others:
        report(client_of(others), "one", "two")
        for project, instance in (("blue", A), ("red", B)):
            spec = {**SPEC, "project_id": project}
            body = {"request_spec": spec, "instance_uuids": [instance]}
            assert client_of(others)("POST", "/gantt/select", body=body).status == 200
        others.close()  # all of it is written then
        client = client_of(books)
        whole = records(client)
        assert [one["instance_uuids"] for one in whole] == [[B], [A]]
        assert all(one["scores"] and one["chosen"] for one in whole)
        (bare,) = records(client, headers=BLUE)
        assert bare["instance_uuids"] == [A]
        assert bare["scores"] == bare["chosen"] == []
        assert records(client, f"?instance_uuid={B}", headers=BLUE) == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=-1", "limit"),
        ("limit=9999999", "limit"),
        ("limit=many", "limit"),
        ("colour=red", "colour"),
    ],
)
def test_bad_queries_are_refused_by_parameter(
    client: WsgiClient, query: str, named: str
) -> None:
    answer = client("GET", f"{PATH}?{query}")
    assert answer.status == 400
    assert named in answer.detail
