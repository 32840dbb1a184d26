"""During an outage of the database callers get 503 without details."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import make_url

from gantt import errors
from gantt.api.app import build_app
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.addresses import without_secrets
from gantt.store.interface import StoreOptions
from tests.api.wsgi_client import Answer, WsgiClient
from tests.databases import Databases
from tests.kinds import KINDS

PLAIN = "The database cannot be reached or used now; try again later."
RP = "/resource_providers"
UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
ASKED: list[tuple[str, str, object]] = [
    ("GET", RP, None),
    ("GET", f"{RP}/{UUID}", None),
    ("GET", "/allocation_candidates?resources=VCPU:1", None),
    ("POST", RP, {"name": "one", "uuid": UUID}),
    ("PUT", "/traits/CUSTOM_ONE", None),
    ("GET", "/gantt/hosts", None),
    ("GET", "/gantt/usage-history?resource_class=VCPU", None),
    ("GET", "/readyz", None),
    ("GET", "/healthcheck", None),
]


class Place(NamedTuple):
    url: str
    leave: Callable[[], None]
    come_back: Callable[[], None]


@pytest.fixture(params=KINDS)
def place(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path
) -> Iterator[Place]:
    kind = str(request.param)
    if kind == "sqlite":
        file, aside = tmp_path / "canary.db", tmp_path / "aside"
        yield Place(
            f"sqlite:///{file}",
            partial(os.rename, file, aside),
            partial(os.rename, aside, file),
        )
        return
    server = databases.server(kind)
    with databases.database(kind) as url:
        secret = make_url(url).set(password="canary-password")
        shown = secret.render_as_string(hide_password=False)
        yield Place(url if kind == "mariadb" else shown, server.kill, server.start)


def client_of(books: Gantt) -> WsgiClient:
    return WsgiClient(build_app(books, load(environ={}, default_auth="noauth2")))


def ask(client: WsgiClient, method: str, path: str, body: object) -> Answer:
    return client(method, path, version=39, body=body)


def secrets_of(url: str) -> list[str]:
    parsed = make_url(url)
    found = [parsed.database, f"{parsed.username}@", parsed.password]
    found += [str(parsed.port)] if parsed.port else []
    words = ["sqlite", "psycopg", "pymysql", "postgresql", "mysql", "127.0.0.1"]
    return [*filter(None, found), *words, "Traceback", "OperationalError"]


def test_outage_is_logged_once_and_plain_to_callers(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(
        open_gantt(
            place.url, EngineOptions(sweep_s=0.05, store=StoreOptions(create=True))
        )
    ) as books:
        client = client_of(books)
        assert ask(client, *ASKED[0]).status == 200
        caplog.clear()
        place.leave()
        try:
            refused = 0
            for _ in range(3):
                for method, path, body in ASKED:
                    answer = ask(client, method, path, body)
                    assert answer.status == 503, (path, answer.text)
                    for secret in secrets_of(place.url):
                        assert secret not in answer.text, path
                        assert secret not in str(answer.headers), path
                    if not path.startswith(("/readyz", "/healthcheck")):
                        assert answer.detail.rstrip().endswith(PLAIN), path
                        assert answer.json["errors"][0]["request_id"]
                        refused += 1
        finally:
            place.come_back()
        assert ask(client, *ASKED[0]).status == 200
        lines = [
            one
            for one in caplog.records
            if one.levelname in ("WARNING", "ERROR") and one.name.startswith("gantt")
        ]
        assert not any(one.exc_info for one in lines)
        first, last = (one.message for one in lines)
        assert first.startswith("the database is away: ")
        assert "canary-password" not in first
        assert f"{refused} requests were refused meanwhile" in last


def test_defects_show_callers_no_details(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("SELECT canary FROM /var/lib/canary")

    with open_gantt("memory://") as books:
        client = client_of(books)
        monkeypatch.setattr(books._reader, "search", fail)
        answer = client("GET", RP, version=39)
    assert answer.status == 500
    assert "canary" not in answer.text
    assert answer.json["errors"][0]["request_id"] in caplog.text
    assert "SELECT canary" in caplog.text


@pytest.mark.parametrize(
    "kind",
    [
        errors.Unavailable,
        errors.StoreFailed,
        errors.OutcomeUnknown,
        errors.Unstorable,
        errors.Refused,
        errors.SignInRefused,
    ],
)
def test_private_details_appear_only_in_the_log(
    kind: type[errors.GanttError],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise kind("canary@db:5432 said: no")

    with open_gantt("memory://") as books:
        client = client_of(books)
        for name in ("read", "search"):
            monkeypatch.setattr(books._reader, name, fail)
        monkeypatch.setattr(books._committer, "submit", fail)
        for method, path, body in ASKED[:5]:
            caplog.clear()
            answer = ask(client, method, path, body)
            assert answer.status >= 400
            assert "canary" not in answer.text
            assert caplog.text.count("canary@db:5432") == 1


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql+pymysql://u:canary@h/d", "mysql+pymysql://u:***@h/d"),
        ("mysql://u:can@ry@h/d", "mysql://u:***@h/d"),
        (
            "postgresql://h/d?user=u&password=canary",
            "postgresql://h/d?user=u&password=***",
        ),
        (
            "mysql://h/d?ssl_key_password=canary&a=b",
            "mysql://h/d?ssl_key_password=***&a=b",
        ),
        ("http://u:canary@h:1/p", "http://u:***@h:1/p"),
        ("http://h:1/p", "http://h:1/p"),
        ("postgresql://u:can/ary@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:can@ary?#@h/d", "postgresql://u:***@h/d"),
        ("sqlite:////tmp/a:b@c.db", "sqlite:////tmp/a:b@c.db"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
