"""With Keystone: what callers whose token is new to Gantt make others wait for."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gantt.conf.values import ServeOptions
from tests.attacks.service import Service, attacked
from tests.http_server import LoopbackHandler, LoopbackServer, answering

WAIT_S = 20.0
SLOW_S = 0.5
MADE_UP, MANY = "made-up", 300
_DOMAIN = {"id": "default", "name": "Default"}


class Keystone(LoopbackHandler):
    """Knows every token but those that begin with MADE_UP, of which it takes its time
    to say so."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("x-subject-token", "").startswith(MADE_UP):
            time.sleep(SLOW_S)
            self._answer(404, {})
        elif self.path.startswith("/v3/auth/tokens"):
            self._answer(200, self._token())
        else:
            links = [{"rel": "self", "href": self._base()}]
            version = {"id": "v3.14", "status": "stable", "links": links}
            self._answer(200, {"version": {**version, "media-types": []}})

    def do_POST(self) -> None:
        self.body()
        self._answer(201, self._token())

    def _base(self) -> str:
        return f"http://{self.headers['host']}/v3"

    def _token(self) -> dict[str, Any]:
        endpoint = {"id": "e", "region": "R", "region_id": "R", "url": self._base()}
        endpoints = [{**endpoint, "interface": one} for one in ("internal", "admin")]
        catalog = [{"type": "identity", "name": "k", "id": "k", "endpoints": endpoints}]
        token = {
            "methods": ["password"],
            "user": {"id": "nova", "name": "nova", "domain": _DOMAIN},
            "project": {"id": "service", "name": "service", "domain": _DOMAIN},
            "roles": [{"id": name, "name": name} for name in ("admin", "service")],
            "expires_at": "2999-01-01T00:00:00.000000Z",
            "issued_at": "2020-01-01T00:00:00.000000Z",
            "catalog": catalog,
        }
        return {"token": token}

    def _answer(self, status: int, document: object) -> None:
        headers = {"Content_Type": "application/json", "X_Subject_Token": "gantt"}
        self.reply(status, json.dumps(document).encode(), **headers)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with answering(LoopbackServer(Keystone)) as keystone:
        config = (
            "[keystone_authtoken]",
            "auth_type = password",
            f"auth_url = {keystone.url}/v3",
            f"www_authenticate_uri = {keystone.url}/v3",
            "username = gantt",
            "password = secret",
            "project_name = service",
            "user_domain_name = Default",
            "project_domain_name = Default",
        )
        with attacked(tmp_path, auth="keystone", more=config) as found:
            yield found


def watch(service: Service, number: int) -> socket.socket:
    """A stream, with a token that was not sent before."""
    place = ("127.0.0.1", service.port)
    found = socket.create_connection(place, WAIT_S, (f"127.0.0.{2 + number % 4}", 0))
    head = f"GET /gantt/watch HTTP/1.1\r\nhost: h\r\nx-auth-token: w{number}\r\n\r\n"
    found.sendall(head.encode())
    return found


def test_streams_of_new_tokens_leave_the_threads_for_new_tokens(
    service: Service,
) -> None:
    with ExitStack() as stack:
        for number in range(ServeOptions().unconfirmed_threads + 2):
            stream = stack.enter_context(watch(service, number))
            assert stream.recv(12) == b"HTTP/1.1 200"
        asked = partial(service.ask, timeout_s=WAIT_S)
        assert asked("GET", "/traits", token="another")[0] == 200
        made = asked("POST", "/resource_classes", {"name": "CUSTOM_A"}, token="writes")
        assert made[0] == 201
        assert asked("GET", "/resource_classes/CUSTOM_A", token="reads")[0] == 200


def test_made_up_tokens_at_a_slow_keystone_delay_no_known_one(service: Service) -> None:
    """300 connections of one address: those that its queue has no place for are told so
    at once, and callers with other tokens do not wait for Keystone's answers."""
    asked = partial(service.ask, timeout_s=WAIT_S)
    name = "/resource_classes/CUSTOM_{}".format
    assert asked("PUT", name("KNOWN"), token="known")[0] == 201
    with ExitStack() as stack:
        sent = [stack.enter_context(made_up(service, n)) for n in range(MANY)]
        began = time.monotonic()
        assert asked("PUT", name("BESIDE"), token="known")[0] == 201
        known_s = time.monotonic() - began
        options = ServeOptions()
        slots = options.unconfirmed_threads // 2 + options.unconfirmed_per_address
        statuses = [one.recv(12)[-3:] for one in sent]
        assert statuses.count(b"503") >= MANY - 2 * slots
        assert set(statuses) == {b"401", b"503"}
    # Before there was a queue for each, it waited for all of them.
    assert known_s < MANY * SLOW_S / options.blocking_threads
    print(f"a known token beside {MANY} made-up ones: {known_s:.3f} s")


def made_up(service: Service, number: int) -> socket.socket:
    """A write with a made-up token."""
    place = ("127.0.0.1", service.port)
    found = socket.create_connection(place, WAIT_S, ("127.0.0.9", 0))
    head = "PUT /resource_classes/CUSTOM_X HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n"
    found.sendall(f"{head}x-auth-token: {MADE_UP}{number}\r\n\r\n".encode())
    return found
