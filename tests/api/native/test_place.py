"""POST /gantt/place and what is placed: keys, projects, and refusals over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gantt.api.app import build_app
from gantt.engine.gantt import Gantt
from gantt.model.demand import consumer_uuid
from tests.api.native.fleet import SPEC, A, report
from tests.api.wsgi_client import Answer, WsgiClient
from tests.configured import settings_of

WEB: dict[str, Any] = {"name": "web", "count": 2, "cpu": 2, "memory": "4GiB"}
BLUE = {"x-auth-token": "ann:blue", "x-roles": "member"}
RED = {"x-auth-token": "bob:red", "x-roles": "member"}


@pytest.fixture
def members(books: Gantt, tmp_path: Path) -> WsgiClient:
    """A service that lets members of projects place for these."""
    rules = ("place", "placements:list", "placements:confirm", "placements:release")
    (tmp_path / "policy.yaml").write_text(
        "".join(f'"gantt:{rule}": "role:member or role:admin"\n' for rule in rules)
    )
    settings = settings_of(tmp_path, "[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, settings))
    report(client, "one", "two")
    return client


def place(client: WsgiClient, *items: dict[str, Any], **sent: Any) -> Answer:
    headers = sent.pop("headers", None)
    body = {"items": items, **sent}
    return client("POST", "/gantt/place", body=body, headers=headers)


def names(client: WsgiClient, query: str = "", **headers: str) -> list[str]:
    answer = client("GET", f"/gantt/placements{query}", headers=headers)
    assert answer.status == 200, answer.text
    return sorted(one["name"] for one in answer.json["placements"])


def test_a_key_makes_it_idempotent(client: WsgiClient) -> None:
    key = {"idempotency-key": "order-1"}
    first = place(client, WEB, headers=key)
    assert first.status == 200, first.text
    assert first.json["plan"] == "order-1"
    assert {one["host"] for one in first.json["placements"]} == {"one", "two"}
    assert place(client, WEB, headers=key).json == first.json
    assert place(client, WEB, plan="order-1").json == first.json
    other = place(client, {**WEB, "cpu": 1}, headers=key)
    assert other.status == 409
    assert "The plan 'order-1' was placed for another demand" in other.detail
    both = place(client, WEB, headers=key, plan="order-2")
    assert both.status == 400
    assert "order-1" in both.detail
    assert "order-2" in both.detail


def test_a_refusal_says_why(client: WsgiClient) -> None:
    answer = place(client, {**WEB, "cpu": 99})
    assert answer.status == 409
    (error,) = answer.json["errors"]
    assert error["code"] == "gantt.no_valid_host"
    assert "(99 CPUs, 4 GiB memory). Nothing was placed." in error["detail"]
    assert error["why"]["said"][0].startswith("Of 2 hosts")


@pytest.mark.parametrize(
    ("item", "detail"),
    [
        ({**WEB, "memory": "4 cores"}, "Item 'web', memory: "),
        ({**WEB, "labels": {"sdd": "yes"}}, "Item 'web', labels: 'sdd=yes'"),
        ({**WEB, "cpus": 2}, "unknown field `cpus` - at `$.items[0]`"),
        ({**WEB, "cpu": [2]}, "at `$.items[0].cpu`"),
        ({**WEB, "cpu": -1}, "Item 'web', cpu: -1"),
        ({**WEB, "count": 1001}, "1001 things were asked for"),
    ],
)
def test_bad_input_names_item_and_field(
    client: WsgiClient, item: dict[str, Any], detail: str
) -> None:
    answer = place(client, item)
    assert answer.status == 400
    assert detail in answer.detail
    assert names(client) == []


def test_limits_are_those_of_the_options(client: WsgiClient) -> None:
    many = [{"name": f"i{number}", "cpu": 1} for number in range(65)]
    answer = place(client, *many)
    assert (answer.status, "max_items" in answer.detail) == (400, True)
    assert place(client).status == 400


def test_members_place_for_their_own_project(members: WsgiClient) -> None:
    blue = place(members, WEB, headers=BLUE, plan="p")
    assert blue.status == 200, blue.text
    uuids = [one["uuid"] for one in blue.json["placements"]]
    assert uuids == [consumer_uuid("blue", "web-1"), consumer_uuid("blue", "web-2")]
    assert place(members, {**WEB, "cpu": 1}, headers=RED, plan="p").status == 200
    assert names(members, **BLUE) == names(members, **RED) == ["web-1", "web-2"]
    assert len(names(members)) == 4
    assert names(members, "?project=blue", **RED) == ["web-1", "web-2"]
    (_, one) = members("GET", "/gantt/placements", headers=RED).json["placements"]
    assert one["project"] == "red"
    for sent in ({"name": "web-1"}, {"plan": "p"}):
        free = "/gantt/placements/release"
        assert members("POST", free, body=sent, headers=RED).status == 204
    assert names(members, **BLUE) == ["web-1", "web-2"]
    assert names(members, **RED) == []


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        ({"project": "red"}, "project red"),
        ({"items": [{**WEB, "host": "one"}]}, "gantt:hosts:choose"),
        ({"items": [{**WEB, "aggregates": ["a"]}]}, "gantt:hosts:choose"),
        ({"items": [{"name": A, "cpu": 1}]}, "does not belong to project blue"),
        ({"items": [{**WEB, "not_with": [A]}]}, "does not belong to project blue"),
        (
            {"relations": [{"kind": "near", "key": "host", "to": A}]},
            "does not belong to project blue",
        ),
    ],
)
def test_members_may_not_name_what_is_not_theirs(
    members: WsgiClient, sent: dict[str, Any], word: str
) -> None:
    spec = {**SPEC, "project_id": "red"}
    body = {"request_spec": spec, "instance_uuids": [A]}
    assert members("POST", "/gantt/select", body=body).status == 200
    demand = {"items": [WEB], **sent}
    answer = members("POST", "/gantt/place", body=demand, headers=BLUE)
    assert answer.status == 403, answer.text
    assert word in answer.detail
    other = {"name": A}
    for path in ("confirm", "release"):
        at = f"/gantt/placements/{path}"
        assert members("POST", at, body=other, headers=BLUE).status == 403
    assert names(members, f"?name={A}", **BLUE) == []


def test_members_hear_no_names_of_hosts(members: WsgiClient) -> None:
    answer = place(members, {**WEB, "cpu": 99}, headers=BLUE)
    assert answer.status == 409
    assert "Of 2 hosts, 2 without enough free" in answer.text
    assert not re.search(r"\b(one|two)\b|Filter", answer.text)


def test_what_is_named_is_confirmed_or_released(client: WsgiClient) -> None:
    place(client, WEB, {"name": "db", "cpu": 1}, lease_s=60, plan="p")
    for path in ("confirm", "release"):
        at = f"/gantt/placements/{path}"
        for wrong in ({}, {"name": "web-1", "plan": "p"}):
            assert client("POST", at, body=wrong).status == 400
        assert client("POST", at, body={"name": "nobody"}).status == 404
        assert client("POST", at, body={"name": "db"}).status == 204
    assert names(client) == ["web-1", "web-2"]
    assert names(client, "?name=web-1&project=") == ["web-1"]
    assert client("POST", "/gantt/placements/release", body={"plan": "p"}).status == 204
    assert names(client) == []


def test_pages_follow_one_another(client: WsgiClient) -> None:
    place(client, {"name": "small", "count": 7, "cpu": 1})
    found, after = [], ""
    while True:
        query = f"?limit=3&after={after}"
        page = client("GET", f"/gantt/placements{query}").json
        found += [one["name"] for one in page["placements"]]
        after = page["next"]
        if not after:
            break
    assert sorted(found) == [f"small-{number}" for number in range(1, 8)]
