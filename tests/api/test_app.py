"""The path of a request: ids, mounts, checks, limits, headers, the log line."""

from __future__ import annotations

import io
import logging

import pytest

from gantt.api.call import NO_CACHE_HEADERS, NOW, CacheMoment, Call
from gantt.conf import ApiOptions
from tests.api import door
from tests.api.door import answer_nothing, client_for

DATE = "Tue, 14 Nov 2023 22:13:20 GMT"


def read_body(call: Call) -> None:
    call.reply(call.json_body() or b"null")


@pytest.mark.parametrize("prefix", ["", "/placement"])
def test_links_have_the_prefix_of_the_mount(prefix: str) -> None:
    def made(call: Call) -> None:
        call.location("/things/1")
        call.no_content(201)

    answer = client_for(made)("PUT", f"{prefix}/thing")
    assert answer.headers["location"] == f"http://gantt.test{prefix}/things/1"


def test_script_name_precedes_the_mount() -> None:
    def show(call: Call) -> None:
        call.reply({"prefix": call.prefix})

    environ = {"SCRIPT_NAME": "/cloud"}
    answer = client_for(show)("GET", "/placement/thing", environ=environ)
    assert answer.json == {"prefix": "/cloud/placement"}


def test_created_has_no_body_and_no_type() -> None:
    answer = client_for(lambda call: call.no_content(201))("PUT", "/thing")
    assert answer.status == 201
    assert answer.headers["content-length"] == "0"
    assert "content-type" not in answer.headers


def test_no_content_has_neither_type_nor_length() -> None:
    answer = client_for(lambda call: call.no_content())("PUT", "/thing")
    assert answer.status == 204
    assert answer.headers.keys().isdisjoint({"content-type", "content-length"})


def test_json_is_written_as_by_the_json_module() -> None:
    answer = client_for(lambda call: call.reply({"a": [1, "ü"]}))("GET", "/thing")
    assert answer.body == b'{"a": [1, "\\u00fc"]}'
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("modified_at", "version", "cache", "modified"),
    [
        (NOW, 14, None, None),
        (NOW, 15, "no-cache", DATE),
        (door.NOW * 1_000_000 + 999_999, 15, "no-cache", DATE),
        (None, 15, "no-cache", None),
        (NO_CACHE_HEADERS, 39, None, None),
    ],
)
def test_cache_headers_since_1_15(
    modified_at: int | CacheMoment | None,
    version: int,
    cache: str | None,
    modified: str | None,
) -> None:
    client = client_for(lambda call: call.reply({}, modified_at=modified_at))
    answer = client("GET", "/thing", version=version)
    assert answer.headers.get("cache-control") == cache
    assert answer.headers.get("last-modified") == modified


def test_request_ids_are_unique() -> None:
    client = client_for(answer_nothing)
    ids = {
        client("GET", path).headers["x-openstack-request-id"]
        for path in ("/thing", "/thing", "/nowhere")
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (None, 200),
        ("*/*", 200),
        ("application/*;q=0.1", 200),
        ("text/html,application/json", 200),
        ("weird", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
        ("application/json;charset=utf-8", 406),
    ],
)
def test_json_must_be_acceptable(accept: str | None, status: int) -> None:
    def show(call: Call) -> None:
        call.check_accept()
        call.reply({})

    answer = client_for(show)("GET", "/thing", headers={"accept": accept})
    assert answer.status == status
    if status == 406:
        assert "Only application/json is provided" in answer.text


def test_malformed_length_is_400_on_any_path() -> None:
    answer = client_for(read_body)("PUT", "/no", headers={"content-length": "abc"})
    assert answer.status == 400
    assert answer.detail.endswith("content-length header must be an integer  ")
    assert "vary" not in answer.headers


def test_body_without_type_is_400() -> None:
    headers = {"content-type": None}
    answer = client_for(read_body)("PUT", "/thing", headers=headers, body={})
    assert answer.status == 400
    text = "content-type header required when content-length > 0"
    assert text in answer.detail


@pytest.mark.parametrize("sent", ["text/plain", "Application/JSON", "text/json; a=b"])
def test_other_types_than_json_are_415(sent: str) -> None:
    headers = {"content-type": sent}
    answer = client_for(read_body)("PUT", "/thing", headers=headers, body={})
    assert answer.status == 415
    assert answer.detail == (
        f"The request media type {sent} is not supported by this server. \n\n "
        f"The media type {sent.partition(';')[0]} is not supported, "
        "use application/json"
    )


@pytest.mark.parametrize("length", [None, "0"])
def test_missing_body_without_type_is_415(length: str | None) -> None:
    answer = client_for(read_body)("PUT", "/thing", headers={"content-length": length})
    assert answer.status == 415
    assert "The media type None is not supported" in answer.detail


def test_parameters_of_the_content_type_are_ignored() -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    answer = client_for(read_body)("PUT", "/thing", headers=headers, body=[1])
    assert answer.json == [1]


def test_long_body_is_413_and_not_read() -> None:
    client = client_for(read_body, options=ApiOptions(max_body_bytes=10))
    assert client("PUT", "/thing", body=b"1" * 10).status == 200
    answer = client("PUT", "/thing", body=b"1" * 11)
    assert answer.status == 413
    assert answer.detail.endswith("A body may have at most 10 bytes.  ")


def test_chunked_body_has_the_same_limit() -> None:
    client = client_for(read_body, options=ApiOptions(max_body_bytes=10))

    def send(length: int) -> int:
        return client(
            "PUT",
            "/thing",
            headers={
                "transfer-encoding": "chunked",
                "content-type": "application/json",
            },
            environ={"wsgi.input": io.BytesIO(b"1" * length)},
        ).status

    assert send(10) == 200
    assert send(11) == 413


def test_long_query_is_414() -> None:
    client = client_for(answer_nothing, options=ApiOptions(max_query_bytes=10))
    assert client("GET", "/thing?" + "x" * 10).status == 200
    answer = client("GET", "/thing?" + "x" * 11)
    assert answer.status == 414
    assert answer.detail.endswith("A query string may have at most 10 bytes.  ")


def test_each_request_is_logged_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gantt.api.access")
    sent = "req-11111111-2222-3333-4444-555555555555"
    headers = {"x-openstack-request-id": sent, "x-auth-token": "joe:red"}
    client = client_for(answer_nothing)
    answer = client("GET", "/placement/thing?a=1", version=7, headers=headers)
    [line] = caplog.messages
    own = answer.headers["x-openstack-request-id"]
    said, _, seconds = line.rpartition(" seconds: ")
    assert said == (
        f'[{sent} {own} joe red] 192.0.2.1 "GET /placement/thing?a=1" '
        "status: 200 len: 2 microversion: 1.7"
    )
    assert 0 < float(seconds) < 60


ID = "8b04f231-0817-4c78-8caa-8ce3ad8eaea1"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("search=web-17", "search=…"),
        ("limit=1&search=web%2017&names=true", "limit=1&search=…&names=true"),
        ("%73e%61rch=web-17", "%73e%61rch=…"),
        ("search=&research=1", "search=&research=1"),
        ("request_id=web-17&limit=9", "request_id=…&limit=9"),
        ("instance%5Fuuid=web-17", "instance%5Fuuid=…"),
        ("uuid=feedfacefeedfacefeedfacefeedface-x", "uuid=…"),
        *((f"{name}={ID}&limit=9",) * 2 for name in ("instance_uuid", "uuid")),
        (f"request_id=req-{ID}", f"request_id=req-{ID}"),
    ],
)
def test_what_is_searched_is_not_logged(
    caplog: pytest.LogCaptureFixture, query: str, shown: str
) -> None:
    """It may be the name of an instance."""
    caplog.set_level(logging.INFO, "gantt.api.access")
    client_for(answer_nothing)("GET", f"/gantt/instances?{query}")
    [line] = caplog.messages
    assert f'"GET /gantt/instances?{shown}" status: ' in line


def test_log_line_cannot_be_broken(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gantt.api.access")
    headers = {"x-openstack-request-id": "forged\nline", "x-auth-token": None}
    client_for(answer_nothing)("GET", "/a%0Ab%C3%BC", headers=headers)
    [line] = caplog.messages
    assert '"GET /a%0Ab%C3%BC" status: 401 len: ' in line
    assert line.startswith("[- req-")
    assert "\n" not in line
    assert "microversion: - seconds: 0." in line


def test_health_needs_no_token_and_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    books = door.Books()
    client = client_for(answer_nothing, books=books)
    headers = {"x-auth-token": None}
    for path in ("/livez", "/readyz", "/healthcheck", "/placement/healthcheck"):
        assert client("GET", path, headers=headers).status == 200
    books.ready = False
    assert client("GET", "/livez", headers=headers).status == 200
    assert client("GET", "/readyz", headers=headers).status == 503
    assert not caplog.messages
