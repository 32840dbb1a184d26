"""The files of the dashboard over HTTP: types, headers, and what needs no token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.api.app import build_app
from gantt.api.ui.dashboard import STATIC
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from tests.api.wsgi_client import WsgiClient


@pytest.fixture(scope="module")
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as found:
        yield found


@pytest.fixture(scope="module")
def client(books: Gantt) -> WsgiClient:
    """A client without a token."""
    return WsgiClient(build_app(books, load(environ={}, default_auth="noauth2")), None)


@pytest.mark.parametrize("mount", ["", "/placement"])
def test_every_file_is_served_without_a_token(client: WsgiClient, mount: str) -> None:
    for path in STATIC.iterdir():
        answer = client("GET", f"{mount}/gantt/ui/{path.name}")
        assert (answer.status, answer.body) == (200, path.read_bytes())
    page = client("GET", f"{mount}/gantt/ui")
    assert page.body == (STATIC / "index.html").read_bytes()
    assert client("GET", f"{mount}/gantt/fleet").status == 401


def test_the_page_has_every_module_loaded_at_once(client: WsgiClient) -> None:
    link = client("GET", "/gantt/ui").headers["link"]
    assert {part.split(";")[0].strip() for part in link.split(",")} == {
        f"<ui/{path.name}>" for path in STATIC.glob("*.js")
    }
    assert "link" not in client("GET", "/gantt/ui/app.js").headers


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/settings.json", "application/json"),
        ("/unknown.js", "text/plain; charset=utf-8"),
    ],
)
def test_browsers_are_told_to_trust_nothing_else(
    client: WsgiClient, name: str, kind: str
) -> None:
    headers = client("GET", f"/gantt/ui{name}").headers
    assert headers["content-type"] == kind
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= {
        *policy
    }
    assert {"frame-ancestors 'none'", "form-action 'none'"} <= {*policy}
    assert not any("unsafe" in one for one in policy)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in headers


def test_a_known_file_is_not_sent_again(client: WsgiClient) -> None:
    first = client("GET", "/gantt/ui/app.js")
    etag = first.headers["etag"]
    for known in (etag, f'"other", W/{etag}'):
        again = client("GET", "/gantt/ui/app.js", headers={"if-none-match": known})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == etag
    other = client("GET", "/gantt/ui/app.js", headers={"if-none-match": '"other"'})
    assert other.status == 200


def test_other_methods_and_paths(client: WsgiClient) -> None:
    head = client("HEAD", "/gantt/ui")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) > 0
    post = client("POST", "/gantt/ui", body={})
    assert (post.status, post.headers["allow"]) == (405, "GET")
    assert client("GET", "/gantt/ui/").headers["location"] == "../ui"
    for name in ("../dashboard.py", "%2e%2e/dashboard.py", "static/app.js", "//app.js"):
        assert client("GET", f"/gantt/ui/{name}").status == 404
    assert client("GET", "/gantt/uix").status == 401


def test_it_can_be_switched_off(books: Gantt) -> None:
    settings = load(
        environ={},
        default_auth="noauth2",
        overrides={("gantt", "dashboard"): False},
    )
    client = WsgiClient(build_app(books, settings))
    assert client("GET", "/gantt/ui").status == 404
    assert client("GET", "/gantt/ui/app.js").status == 404


def test_the_page_learns_how_to_sign_in(client: WsgiClient) -> None:
    assert client("GET", "/gantt/ui/settings.json").json == {
        "auth": "noauth2",
        "takes_passwords": False,
    }
