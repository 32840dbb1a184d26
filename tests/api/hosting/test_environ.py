"""The environment of a request is what WSGI applications expect."""

from __future__ import annotations

from dataclasses import dataclass, field

from gantt.api.hosting.rsgi import environ_of


class Headers(list[tuple[str, str]]):
    def items(self) -> list[tuple[str, str]]:
        return list(self)


@dataclass
class Scope:
    path: str = "/"
    query_string: str = ""
    headers: Headers = field(default_factory=Headers)
    method: str = "GET"
    http_version: str = "1.1"
    server: str = "127.0.0.1:8778"
    client: str = "192.0.2.7:4711"
    scheme: str = "http"
    authority: str | None = None


def test_request_line_in_environ() -> None:
    found = environ_of(Scope("/a/b c/\u00e9", "x=%20&y=\u00e9", method="PUT"))
    assert found["REQUEST_METHOD"] == "PUT"
    assert found["PATH_INFO"] == "/a/b c/\u00c3\u00a9"
    assert found["QUERY_STRING"] == "x=%20&y=\u00c3\u00a9"
    assert (found["SCRIPT_NAME"], found["SERVER_PROTOCOL"]) == ("", "HTTP/1.1")
    assert (found["SERVER_NAME"], found["SERVER_PORT"]) == ("127.0.0.1", "8778")
    assert (found["REMOTE_ADDR"], found["wsgi.url_scheme"]) == ("192.0.2.7", "http")
    assert found["HTTP_HOST"] == ""
    assert environ_of(Scope(authority="h:80"))["HTTP_HOST"] == "h:80"


def test_headers_in_environ() -> None:
    headers = [("x-a", "1"), ("host", "h"), ("x-a", "2"), ("cookie", "a=b")]
    headers += [("cookie", "c=d"), ("content-type", "t"), ("content-length", "3")]
    found = environ_of(Scope(headers=Headers(headers)))
    assert (found["HTTP_X_A"], found["HTTP_COOKIE"]) == ("1,2", "a=b;c=d")
    assert (found["CONTENT_TYPE"], found["CONTENT_LENGTH"]) == ("t", "3")
    assert found["HTTP_HOST"] == "h"


def test_headers_with_underscores_are_dropped() -> None:
    headers = [("x_auth_token", "admin"), ("content_length", "3"), ("x-roles", "r")]
    found = environ_of(Scope(headers=Headers(headers)))
    assert "HTTP_X_AUTH_TOKEN" not in found
    assert "CONTENT_LENGTH" not in found
    assert found["HTTP_X_ROLES"] == "r"
