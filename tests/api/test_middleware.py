"""The middleware of other projects: CORS, proxies, Keystone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gantt.api.app import build_app
from gantt.engine.engine_protocol import Engine
from gantt.errors import Refused
from tests.api.door import Books
from tests.api.wsgi_client import WsgiClient
from tests.configured import settings_of

ORIGIN = "https://horizon.example"


def client(tmp_path: Path, text: str, auth: str = "noauth2") -> WsgiClient:
    settings = settings_of(tmp_path, f"[api]\nauth_strategy = {auth}\n{text}")
    return WsgiClient(build_app(cast(Engine, Books()), settings), token=None)


def preflight(origin: str) -> dict[str, Any]:
    return {
        "origin": origin,
        "access-control-request-method": "GET",
        "access-control-request-headers": "X-Auth-Token",
    }


def test_preflight_needs_no_token(tmp_path: Path) -> None:
    send = client(tmp_path, f"[cors]\nallowed_origin = {ORIGIN}\n")
    answer = send("OPTIONS", "/resource_providers", headers=preflight(ORIGIN))
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert answer.headers["Access-Control-Allow-Methods"] == "GET"
    assert answer.headers["Access-Control-Allow-Headers"] == "X-Auth-Token"
    assert answer.headers["x-openstack-request-id"].startswith("req-")


def test_other_origins_get_no_cors_headers(tmp_path: Path) -> None:
    send = client(tmp_path, f"[cors]\nallowed_origin = {ORIGIN}\n")
    headers = preflight("https://evil.example")
    answer = send("OPTIONS", "/resource_providers", headers=headers)
    assert answer.status == 200
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_exposed_headers(tmp_path: Path) -> None:
    send = client(tmp_path, f"[cors]\nallowed_origin = {ORIGIN}\n")
    answer = send("GET", "/", headers={"origin": ORIGIN})
    assert answer.status == 200
    exposed = answer.headers["Access-Control-Expose-Headers"]
    assert "OpenStack-API-Version" in exposed


def test_options_is_405_without_cors(tmp_path: Path) -> None:
    headers = {**preflight(ORIGIN), "x-auth-token": "admin"}
    answer = client(tmp_path, "")("OPTIONS", "/resource_providers", headers=headers)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("is_on", [True, False])
def test_proxy_headers_are_trusted_if_configured(tmp_path: Path, is_on: bool) -> None:
    text = f"[oslo_middleware]\nenable_proxy_headers_parsing = {is_on}\n"
    headers = {
        "x-auth-token": "admin",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "cloud.example",
        "x-forwarded-prefix": "/cloud",
    }
    seen: list[str] = []

    class Keen(Books):
        def submit(self, command: Any, request_id: str) -> Any:
            from gantt.model.answers import Created

            return Created(command.name, is_new=True)

    settings = settings_of(tmp_path, f"[api]\nauth_strategy = noauth2\n{text}")
    send = WsgiClient(build_app(cast(Engine, Keen()), settings))
    answer = send("PUT", "/traits/CUSTOM_A", version=39, headers=headers)
    seen.append(answer.headers["location"])
    expected = "https://cloud.example/cloud" if is_on else "http://gantt.test"
    assert seen == [f"{expected}/traits/CUSTOM_A"]


def test_keystone_guards_all_but_open_documents(tmp_path: Path) -> None:
    text = "[keystone_authtoken]\nwww_authenticate_uri = https://k.example:5000\n"
    send = client(tmp_path, text, auth="keystone")
    assert send("GET", "/").status == 200
    assert send("GET", "/placement/").status == 200
    answer = send("GET", "/resource_providers")
    assert answer.status == 401
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge == 'Keystone uri="https://k.example:5000"'
    assert answer.headers["x-openstack-request-id"].startswith("req-")


def test_forged_keystone_headers_are_401(tmp_path: Path) -> None:
    text = "[keystone_authtoken]\nwww_authenticate_uri = https://k.example:5000\n"
    send = client(tmp_path, text, auth="keystone")
    headers = {"x-user-id": "admin", "x-roles": "admin", "x-project-id": "p"}
    assert send("GET", "/resource_providers", headers=headers).status == 401


def test_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    text = "[keystone_authtoken]\nwww_authenticate_uri = https://k.example:5000\n"
    monkeypatch.setitem(sys.modules, "keystonemiddleware.auth_token", None)
    with pytest.raises(Refused, match=r"pip install .*\[openstack\]"):
        client(tmp_path, text, auth="keystone")
