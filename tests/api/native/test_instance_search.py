"""Instances are searched over HTTP: all by operators, their own by members."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from gantt.api.app import build_app
from gantt.engine.gantt import Gantt
from gantt.model.hosts import Instance
from tests.api.native.fleet import SPEC, A, B, C, report
from tests.api.wsgi_client import WsgiClient
from tests.configured import settings_of

READER = {"x-auth-token": "ann:blue", "x-roles": "reader"}
OTHER = {"x-auth-token": "bob:red", "x-roles": "reader"}


def service(books: Gantt, folder: Path, policy: str = "") -> WsgiClient:
    """Two instances of blue on a host, of which one is named, and one of red."""
    (folder / "policy.yaml").write_text(policy)
    settings = settings_of(folder, "[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, settings))
    report(client, "one")
    for uuid, project in ((A, "blue"), (B, "blue"), (C, "red")):
        _claim(client, uuid, project)
    books.update_instances(
        "one",
        [
            Instance(A, {"display_name": "web-1"}),
            Instance(C, {"display_name": "web-red"}),
        ],
    )
    return client


def _claim(client: WsgiClient, uuid: str, project: str) -> None:
    spec = {**SPEC, "project_id": project, "flavor": {"vcpus": 1, "memory_mb": 1}}
    asked = {"request_spec": spec, "instance_uuids": [uuid]}
    answer = client("POST", "/gantt/select", body=asked)
    assert answer.status == 200, answer.text


def ask(client: WsgiClient, query: str, headers: Any = None) -> Any:
    answer = client("GET", f"/gantt/instances?{query}", headers=headers or {})
    assert answer.status == 200, answer.text
    return answer.json["instances"]


def test_an_operator_finds_all_and_where_they_are(books: Gantt, tmp_path: Path) -> None:
    client = service(books, tmp_path)
    found = {one["uuid"]: one for one in ask(client, "search=WEB")}
    assert found.keys() == {A, C}
    assert found[A]["host"] == found[A]["node"] == "one"
    assert found[A]["name"] == "web-1" and found[A]["project_id"] == "blue"
    assert [one["uuid"] for one in ask(client, "search=blue")] == [A, B]
    assert [one["uuid"] for one in ask(client, f"search={B[:8]}")] == [B]
    assert [one["uuid"] for one in ask(client, "project_id=red")] == [C]
    first = client("GET", "/gantt/instances?search=web&limit=1").json
    (last,) = ask(client, f"search=web&limit=1&after={first['next']}")
    assert (first["instances"][0]["uuid"], last["uuid"]) == (A, C)


def test_what_only_has_allocations_is_found(books: Gantt, tmp_path: Path) -> None:
    client = service(books, tmp_path)
    books.release_claim(ask(client, f"uuid={B}")[0]["claim"])
    (provider,) = books.list_providers()
    uuid = "0000000d-aaaa-4000-8000-000000000000"
    body = {
        "allocations": {provider.uuid: {"resources": {"VCPU": 1}}},
        "project_id": "blue",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    answer = client("PUT", f"/allocations/{uuid}", body=body, version=38)
    assert answer.status == 204, answer.text
    assert [one["uuid"] for one in ask(client, "search=blue")] == [A, uuid]
    assert uuid not in [one["uuid"] for one in ask(client, "")]


def test_a_member_finds_only_its_own(books: Gantt, tmp_path: Path) -> None:
    client = service(books, tmp_path)
    for query in ("", "search=web", "search=-", "search=blue", f"search={A}"):
        for one in ask(client, query, READER):
            assert one["uuid"] in {A, B} and one["project_id"] == "blue"
            assert one["host"] is None and one["node"] is None
            assert one["allocations"] == {}
    (mine,) = ask(client, "search=web", READER)
    assert (mine["uuid"], mine["name"]) == (A, "web-1")
    for query in ("search=web-red", "search=red", f"search={C}", f"uuid={C}"):
        assert ask(client, query, READER) == []
    assert [one["uuid"] for one in ask(client, "search=web", OTHER)] == [C]
    for query, wrong in (("host=one", "host"), ("project_id=red", "project_id")):
        refused = client("GET", f"/gantt/instances?{query}", headers=READER)
        assert refused.status == 403 and f"{wrong} is " in refused.text
    no_role = {"x-auth-token": "ann:blue", "x-roles": "none"}
    assert client("GET", "/gantt/instances", headers=no_role).status == 403


def test_a_member_hears_which_project_is_its_own(books: Gantt, tmp_path: Path) -> None:
    client = service(books, tmp_path)
    for headers, own in ((READER, "blue"), (OTHER, "red"), ({}, None)):
        found = client("GET", "/gantt/instances?search=-none-", headers=headers)
        assert found.json["project_id"] == own


@pytest.mark.parametrize(("own", "others"), [("a-b", "ab"), ("ab", "a-b")])
def test_hyphens_tell_projects_apart_that_have_no_uuid(
    books: Gantt, tmp_path: Path, own: str, others: str
) -> None:
    client = service(books, tmp_path)
    uuids = {own: str(UUID(int=14 << 76 | 8 << 60)), others: str(UUID(int=8 << 60))}
    for project, uuid in uuids.items():
        _claim(client, uuid, project)
    reader = {"x-auth-token": f"ann:{own}", "x-roles": "reader"}
    for query in ("", f"search={own}", "search=-", f"project_id={own}"):
        assert [one["uuid"] for one in ask(client, query, reader)] == [uuids[own]]
    assert ask(client, f"search={others}", reader) == []
    assert ask(client, f"uuid={uuids[others]}", reader) == []
    found = ask(client, f"project_id={others}")
    assert [one["uuid"] for one in found] == [uuids[others]]


def test_a_project_with_a_uuid_is_found_with_hyphens_and_without(
    books: Gantt, tmp_path: Path
) -> None:
    client = service(books, tmp_path)
    project, uuid = "c0ffee00-0000-4000-8000-000000000001", str(UUID(int=8 << 60))
    _claim(client, uuid, project.replace("-", ""))
    for written in (project, project.replace("-", ""), project.upper()):
        for query in (f"search={written}", f"project_id={written}"):
            assert [one["uuid"] for one in ask(client, query)] == [uuid]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_page_of_a_member_does_not_tell_whether_another_instance_is_there(
    books: Gantt, tmp_path: Path, is_there: bool
) -> None:
    """One that the books have in capitals, which come before ``own``, as they do not
    where it is unknown."""
    client = service(books, tmp_path)
    own, marker = "c" * 8 + A[8:], "F" * 8 + A[8:]
    _claim(client, own, "blue")
    if is_there:
        with books._replica.lock:
            named = books._replica.state.fleet.instances.by_uuid
            named[marker] = replace(named[C], uuid=marker)
    assert ask(client, f"marker={marker}", READER) == []
    assert [one["uuid"] for one in ask(client, f"marker={marker}")] == [own] * is_there
    assert [one["uuid"] for one in ask(client, f"marker={A}", READER)] == [B, own]


@pytest.mark.parametrize("headers", [{}, READER])
def test_names_may_be_withheld(books: Gantt, tmp_path: Path, headers: Any) -> None:
    """Where policy does not let them be seen, nothing tells that a name matches."""
    client = service(books, tmp_path, '"gantt:instances:names": "role:auditor"\n')
    assert ask(client, "search=web", headers) == []
    assert ask(client, "search=web&names=true", headers) == []
    assert {one["name"] for one in ask(client, "search=blue", headers)} == {None}
    found = client("GET", f"/gantt/decisions?instance_uuid={A}", headers=headers).json
    assert found["decisions"][0]["names"] == {}
    if not headers:
        assert client("GET", "/gantt/host?host=one").json["names"] == {}


def test_decisions_have_the_names_of_their_instances(
    books: Gantt, tmp_path: Path
) -> None:
    client = service(books, tmp_path)
    for headers in ({}, READER):
        answer = client("GET", f"/gantt/decisions?instance_uuid={A}", headers=headers)
        assert answer.json["decisions"][0]["names"] == {A: "web-1"}
    assert books.decisions(instance_uuid=B)[0].names == {}
    assert client("GET", "/gantt/host?host=one").json["names"] == {
        A: "web-1",
        C: "web-red",
    }


@pytest.mark.parametrize("project", ["red", None])
def test_a_decision_tells_a_member_no_name_of_another_project(
    books: Gantt, tmp_path: Path, project: str | None
) -> None:
    """A dry run, or a request that fits nowhere, may name an instance of another
    project that has no allocations here, or of none that is known."""
    rule = '"gantt:select": "role:reader or role:admin"\n'
    client = service(books, tmp_path, rule)
    other, owner = str(UUID(int=13 << 60)), {"project_id": project} if project else {}
    known = {"display_name": "payroll", **owner}
    books.update_instances("one", [Instance(other, known)])
    for vcpus, status in ((1, 200), (999, 409)):
        asked = {
            "request_spec": {"flavor": {"vcpus": vcpus, "memory_mb": 1}},
            "instance_uuids": [other],
            "dry_run": status == 200,
        }
        answer = client("POST", "/gantt/select", body=asked, headers=READER)
        assert answer.status == status and "payroll" not in answer.text
    query = f"/gantt/decisions?instance_uuid={other}"
    for headers, names in ((READER, {}), ({}, {other: "payroll"})):
        found = client("GET", query, headers=headers).json["decisions"]
        assert [one["names"] for one in found] == [names, names]


def test_who_may_see_a_host_sees_names_as_operators_alone(
    books: Gantt, tmp_path: Path
) -> None:
    rule = '"gantt:hosts:show": "role:reader or role:admin"\n'
    client = service(books, tmp_path, rule)
    for headers, count in ((READER, 0), ({}, 2)):
        answer = client("GET", "/gantt/host?host=one", headers=headers)
        assert len(answer.json["names"]) == count
