"""A password for a token, by way of the dashboard: Keystone is asked, none is kept."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gantt.api.app import build_app
from gantt.api.ui.sign_in import MOST_BYTES, SignIn
from gantt.conf import load
from gantt.conf.credentials import Credentials, IssuedToken
from gantt.connection import open_gantt
from tests.api.wsgi_client import WsgiClient
from tests.http_server import LoopbackHandler, LoopbackServer, answering

PATH = "/gantt/ui/sign-in"
GIVEN = {"user": "ann", "password": "s3cret-word", "project": "blue"}
TOKEN = {
    "methods": ["password"],
    "expires_at": "2030-01-01T00:00:00.000000Z",
    "issued_at": "2029-01-01T00:00:00.000000Z",
    "user": {"id": "u", "name": "ann", "domain": {"id": "d", "name": "Default"}},
}


class Keystone(LoopbackServer):
    """Answers POST /v3/auth/tokens with ``status``; ``bodies``: what was sent."""

    status = 201
    location = ""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        super().__init__(_Handler)


class _Handler(LoopbackHandler):
    server: Keystone

    def do_POST(self) -> None:
        self.server.bodies.append((self.path, json.loads(self.body())))
        body = json.dumps({"token": TOKEN} if self.server.status == 201 else {})
        headers = {"X_Subject_Token": "gAAA-token"}
        if self.server.location:
            headers["Location"] = self.server.location
        self.reply(self.server.status, body.encode(), **headers)


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    with answering(Keystone()) as server:
        yield server


@contextmanager
def service(folder: Path, url: str, more: str = "") -> Iterator[WsgiClient]:
    config = folder / "gantt.conf"
    config.write_text(
        f"[gantt]\n{more}\n[keystone_authtoken]\nauth_url = {url}\n"
        "www_authenticate_uri = http://public.example\n"
    )
    with open_gantt("memory://") as books:
        yield WsgiClient(build_app(books, load([str(config)], environ={})), None)


@pytest.mark.parametrize("suffix", ["", "/", "/v3"])
def test_a_password_becomes_a_token(
    keystone: Keystone,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    suffix: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    with service(tmp_path, keystone.url + suffix) as client:
        assert client("GET", "/gantt/ui/settings.json").json["takes_passwords"]
        answer = client("POST", PATH, body={**GIVEN, "user_domain": "d1"})
        assert answer.json == {
            "token": "gAAA-token",
            "expires_at": "2030-01-01T00:00:00+00:00",
        }
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
    ((path, body),) = keystone.bodies
    assert path.startswith("/v3/auth/tokens")
    user = body["auth"]["identity"]["password"]["user"]
    assert user == {
        "name": "ann",
        "password": "s3cret-word",
        "domain": {"name": "d1"},
    }
    scope = {"name": "blue", "domain": {"name": "Default"}}
    assert body["auth"]["scope"] == {"project": scope}
    assert "s3cret-word" not in caplog.text
    assert "gAAA-token" not in caplog.text


@pytest.mark.parametrize(
    ("status", "told"), [(401, 403), (404, 403), (500, 503), (302, 503)]
)
def test_what_keystone_refuses(
    keystone: Keystone, tmp_path: Path, status: int, told: int
) -> None:
    keystone.status = status
    keystone.location = f"{keystone.url}/elsewhere" if status == 302 else ""
    with service(tmp_path, keystone.url) as client:
        answer = client("POST", PATH, body=GIVEN)
        assert answer.status == told
        assert "s3cret-word" not in answer.text
        assert "token" not in answer.json
    assert len(keystone.bodies) == 1, "a password follows no redirect"


def test_a_keystone_that_is_away(tmp_path: Path) -> None:
    with service(tmp_path, "http://127.0.0.1:1") as client:
        answer = client("POST", PATH, body=GIVEN)
        assert (answer.status, answer.detail) == (503, "Keystone does not answer.")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"user": "ann"}, {}, 400),
        ({**GIVEN, "url": "http://elsewhere.example"}, {}, 400),
        ({**GIVEN, "user": ""}, {}, 400),
        ({**GIVEN, "password": "x" * MOST_BYTES}, {}, 400),
        (b"[" * 1000, {}, 400),
        (GIVEN, {"content-type": "text/plain"}, 415),
        (GIVEN, {"sec-fetch-site": "cross-site"}, 403),
        (GIVEN, {"sec-fetch-site": "same-site"}, 403),
        (GIVEN, {"content-length": "x"}, 400),
    ],
)
def test_what_is_not_passed_on(
    keystone: Keystone, tmp_path: Path, body: Any, headers: Any, status: int
) -> None:
    with service(tmp_path, keystone.url) as client:
        answer = client("POST", PATH, body=body, headers=headers)
        assert answer.status == status
        assert client("GET", PATH).status == 405
    assert keystone.bodies == []


def test_only_so_many_at_once() -> None:
    reached, released = threading.Event(), threading.Event()

    def ask(given: Credentials) -> IssuedToken:
        reached.set()
        assert released.wait(20)
        return IssuedToken(given.user)

    door = SignIn(ask, 1)
    answers: list[bytes] = []
    first = threading.Thread(target=lambda: answers.append(door.answer(sent()).body))
    first.start()
    assert reached.wait(20)
    assert door.answer(sent()).status.startswith("503")
    released.set()
    first.join(20)
    assert json.loads(answers[0])["token"] == "ann"
    assert door.counts() == {
        "sign_ins": 0,
        "sign_ins_limit": 1,
        "sign_ins_turned_away": 1,
    }


def sent() -> dict[str, Any]:
    import io

    body = json.dumps(GIVEN).encode()
    return {
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }


def test_it_can_be_switched_off(keystone: Keystone, tmp_path: Path) -> None:
    with service(tmp_path, keystone.url, "dashboard_sign_ins = 0") as client:
        assert not client("GET", "/gantt/ui/settings.json").json["takes_passwords"]
        assert client("POST", PATH, body=GIVEN).status == 405
