"""A body that nobody read does not get in the way of the next request."""

from __future__ import annotations

import io
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from gantt.api.call import BODY_READ, Caller
from gantt.api.envelope import CALLER
from gantt.api.unread import finished
from tests.live import served

LIMIT = 100_000
ANN = Caller("ann", "blue")


@pytest.mark.parametrize(
    ("length", "sent", "caller", "more", "left", "closes"),
    [
        ("70000", 70_000, ANN, {}, 0, False),
        (str(LIMIT), LIMIT, ANN, {}, 0, False),
        (str(LIMIT + 1), LIMIT + 1, ANN, {}, LIMIT + 1, True),
        ("70000", 70_000, None, {}, 70_000, True),
        ("many", 9, ANN, {}, 0, False),
        ("0", 0, None, {}, 0, False),
        ("", 0, None, {}, 0, False),
        ("70000", 70_000, ANN, {BODY_READ: True}, 70_000, False),
        ("", 70_000, ANN, {"HTTP_TRANSFER_ENCODING": "chunked"}, 0, False),
        ("", 70_000, None, {"HTTP_TRANSFER_ENCODING": "chunked"}, 70_000, True),
        ("", 9 * LIMIT, ANN, {"HTTP_TRANSFER_ENCODING": "chunked"}, None, True),
    ],
)
def test_it_is_read_or_the_connection_ends(
    length: str,
    sent: int,
    caller: Caller | None,
    more: dict[str, Any],
    left: int | None,
    closes: bool,
) -> None:
    stream = io.BytesIO(b"x" * sent)
    environ = {"CONTENT_LENGTH": length, "wsgi.input": stream, **more}
    told: list[tuple[str, str]] = []

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if caller is not None:
            environ[CALLER] = caller
        start_response("403 Forbidden", [("vary", "x")])
        return [b"no"]

    def start_response(_status: str, headers: Any, _exc_info: Any = None) -> None:
        told.extend(headers)

    assert list(finished(app, LIMIT)(environ, start_response)) == [b"no"]
    assert (("connection", "close") in told) == closes
    rest = len(stream.read())
    assert rest == left if left is not None else rest > 7 * LIMIT


def test_the_next_request_is_answered(tmp_path: Path) -> None:
    member = {"x-auth-token": "bob:blue", "x-roles": "member"}
    admin = {"x-auth-token": "admin", "x-roles": "admin"}
    body = b'{"a": "%s"}' % (b"x" * 300_000)
    with served(tmp_path) as live:
        connection = HTTPConnection(live.url.removeprefix("http://"), timeout=30)
        for target, caller, status in [
            ("/gantt/hosts/a/b", member, 403),
            ("/gantt/nothing", admin, 404),
            ("/traits", admin, 405),
        ] * 20:
            headers = {**caller, "content-type": "application/json"}
            connection.request("PUT", target, body, headers)
            kept = connection.sock
            answer = connection.getresponse()
            answer.read()
            assert (answer.status, answer.getheader("connection")) == (status, None)
            assert connection.sock is kept
        headers = {"content-type": "application/json"}
        connection.request("PUT", "/gantt/hosts/a/b", b"{}", headers)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("connection")) == (401, "close")
