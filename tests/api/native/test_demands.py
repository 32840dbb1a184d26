"""Demands that wait, over HTTP: each project's own, without names of hosts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gantt.api.app import build_app
from gantt.engine.gantt import Gantt
from tests.api.native.fleet import report
from tests.api.native.test_place import BLUE, RED
from tests.api.wsgi_client import WsgiClient
from tests.configured import settings_of

HUGE: dict[str, Any] = {"items": [{"name": "huge", "cpu": 99}], "wait_s": 600}
RULES = ("place", "demands:list", "demands:cancel")


@pytest.fixture
def members(books: Gantt, tmp_path: Path) -> WsgiClient:
    """A service that lets members of projects place, and see what waits of theirs."""
    (tmp_path / "policy.yaml").write_text(
        "".join(f'"gantt:{rule}": "role:member or role:admin"\n' for rule in RULES)
    )
    settings = settings_of(tmp_path, "[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, settings))
    report(client, "one", "two")
    return client


def waits(client: WsgiClient, headers: dict[str, str]) -> str:
    answer = client("POST", "/gantt/place", body=HUGE, headers=headers)
    assert answer.status == 200, answer.text
    assert answer.json["placements"] == []
    return f"/gantt/demands/{answer.json['demand']}"


def listed(client: WsgiClient, headers: dict[str, str] | None = None) -> list[str]:
    answer = client("GET", "/gantt/demands", headers=headers)
    assert answer.status == 200, answer.text
    return [one["project"] for one in answer.json["demands"]]


def test_members_see_and_cancel_their_own(members: WsgiClient) -> None:
    blue, red = waits(members, BLUE), waits(members, RED)
    assert listed(members) == ["blue", "red"]
    assert (listed(members, BLUE), listed(members, RED)) == (["blue"], ["red"])
    assert members("GET", blue, headers=RED).status == 404
    assert members("DELETE", blue, headers=RED).status == 404
    assert members("DELETE", blue, headers=BLUE).status == 204
    assert members("GET", blue, headers=BLUE).json["state"] == "cancelled"
    assert members("DELETE", blue, headers=BLUE).status == 409
    assert members("GET", red, headers=RED).json["place"] == 1


def test_members_hear_why_without_names_of_hosts(members: WsgiClient) -> None:
    waits(members, RED)
    answer = members("GET", f"{waits(members, BLUE)}?explain=true", headers=BLUE)
    first, second = answer.json["said"]
    assert first == "1 come before it."
    assert second.startswith("Of 2 hosts, 2 without enough free")
    assert not re.search(r"\b(one|two)\b", answer.text)


def test_members_have_no_priority(members: WsgiClient) -> None:
    body = {**HUGE, "priority": 1}
    answer = members("POST", "/gantt/place", body=body, headers=BLUE)
    assert answer.status == 403
    assert "priority" in answer.detail


@pytest.mark.parametrize("query", ["wait_s=21", "wait_s=-1", "wait_s=x", "why=1"])
def test_what_cannot_be_asked_is_refused(members: WsgiClient, query: str) -> None:
    assert members("GET", f"{waits(members, BLUE)}?{query}").status == 400


def test_a_long_poll_ends(members: WsgiClient) -> None:
    answer = members("GET", f"{waits(members, BLUE)}?wait_s=0.2", headers=BLUE)
    assert (answer.status, answer.json["state"]) == (200, "waiting")
