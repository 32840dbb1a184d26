"""Reasons are redacted for whoever may select without running the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gantt.api.app import build_app
from gantt.conf import load
from gantt.engine.gantt import Gantt
from tests.api.native.fleet import SPEC, TOO_MUCH, A, report
from tests.api.wsgi_client import WsgiClient

MEMBER = {"x-auth-token": "bob:blue", "x-roles": "member"}


@pytest.fixture
def client(books: Gantt, tmp_path: Path) -> WsgiClient:
    """Members may select here, as a policy file says."""
    pytest.importorskip("oslo_policy")
    (tmp_path / "policy.yaml").write_text(
        '"gantt:select": "role:member or role:admin"\n'
    )
    config = tmp_path / "gantt.conf"
    config.write_text("[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, load([str(config)])))
    report(client, "one", "two")
    return client


def select(client: WsgiClient, spec: Any, *, dry_run: bool = False) -> Any:
    body = {"request_spec": spec, "instance_uuids": [A], "dry_run": dry_run}
    return client("POST", "/gantt/select", body=body, headers=MEMBER)


def test_hosts_are_told_and_reasons_are_counts(client: WsgiClient) -> None:
    refused = select(client, TOO_MUCH)
    assert refused.status == 409
    (error,) = refused.json["errors"]
    assert error["why"]["steps"]
    assert error["why"]["nearest"] == []
    assert error["why"]["change"] is None
    dry = select(client, SPEC, dry_run=True).json
    assert dry["steps"]
    assert dry["scores"] == dry["chosen"] == []
    chosen = select(client, SPEC).json["selections"]
    assert chosen[0][0]["service_host"] in {"one", "two"}
