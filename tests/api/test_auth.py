"""The authentication strategies."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from gantt.api.access.auth import TokenFile, build_authenticator, keystone, noauth2
from gantt.api.app import identify
from gantt.api.call import Caller
from gantt.api.wire.problem import Problem
from gantt.conf import AuthOptions
from gantt.errors import Refused
from tests.api.door import answer_nothing, client_for


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("headers", "caller"),
    [
        ({"X_AUTH_TOKEN": "admin"}, Caller("admin", "admin", ("admin",))),
        ({"X_AUTH_TOKEN": "admin:red"}, Caller("admin", "red", ("admin",))),
        ({"X_AUTH_TOKEN": "joe"}, Caller("joe", "joe")),
        ({"X_AUTH_TOKEN": "joe:red:x"}, Caller("joe", "red:x")),
        ({"X_AUTH_TOKEN": ""}, Caller("", None)),
        ({"X_AUTH_TOKEN": ":red"}, Caller("", "red")),
        (
            {"X_AUTH_TOKEN": "admin", "X_ROLES": "reader, member"},
            Caller("admin", "admin", ("reader", "member")),
        ),
        ({"X_AUTH_TOKEN": "admin", "X_ROLES": ""}, Caller("admin", "admin")),
        (
            {"X_AUTH_TOKEN": "joe", "X_PROJECT_ID": "blue"},
            Caller("joe", "blue"),
        ),
        (
            {"X_AUTH_TOKEN": "admin", "OPENSTACK_SYSTEM_SCOPE": "all"},
            Caller("admin", None, ("admin",), "all"),
        ),
    ],
)
def test_noauth2_trusts_headers(headers: dict[str, str], caller: Caller) -> None:
    environ = {f"HTTP_{name}": value for name, value in headers.items()}
    found = noauth2(environ)
    assert found.project_id in (caller.project_id, "")
    assert (found.user_id, found.roles, found.system_scope) == (
        caller.user_id,
        caller.roles,
        caller.system_scope,
    )
    assert (found.project_id or None) == caller.project_id


@pytest.mark.parametrize("strategy", [noauth2, keystone])
def test_missing_token_is_401(strategy: Any) -> None:
    with pytest.raises(Problem) as caught:
        strategy({})
    assert caught.value.status == 401


def test_keystone_headers_are_trusted() -> None:
    environ = {
        "HTTP_X_USER_ID": "u",
        "HTTP_X_PROJECT_ID": "p",
        "HTTP_X_ROLES": "admin,member",
        "HTTP_X_AUTH_TOKEN": "ignored",
    }
    assert keystone(environ) == Caller("u", "p", ("admin", "member"))
    system = {"HTTP_X_USER_ID": "u", "HTTP_OPENSTACK_SYSTEM_SCOPE": "all"}
    assert keystone(system) == Caller("u", None, (), "all")


@pytest.mark.parametrize("path", ["/", ""])
def test_version_document_needs_no_token(path: str) -> None:
    def explode(environ: Any) -> Caller:
        raise AssertionError("asked for a token")

    assert identify({"PATH_INFO": path}, explode) == Caller()


def test_401_has_its_own_form() -> None:
    client = client_for(answer_nothing)
    headers: dict[str, str | None] = {"x-auth-token": None}
    answer = client("GET", "/thing", headers=headers, version="latest")
    assert answer.status == 401
    assert answer.body == (
        b'{"message": "This server could not verify that you are authorized to '
        b"access the document you requested. Either you supplied the wrong "
        b"credentials (e.g., bad password), or your browser does not understand how "
        b'to supply the credentials required.<br /><br />\\n\\n\\n", '
        b'"code": "401 Unauthorized", "title": "Unauthorized"}'
    )
    assert answer.headers.keys().isdisjoint({"openstack-api-version", "vary"})
    headers["accept"] = "text/plain"
    plain = client("GET", "/thing", headers=headers).text
    assert plain.startswith("401 Unauthorized\n\nThis server could not verify ")
    assert plain.endswith(" the credentials required.\n\n   ")


def tokens(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    path = tmp_path / "tokens.yaml"
    path.write_text(text)
    path.chmod(mode)
    return path


GOOD = "s3cret: {user: ann, project: red, roles: [admin, reader]}\n"


def test_tokens_are_read_from_yaml_and_json(tmp_path: Path) -> None:
    ann = Caller("ann", "red", ("admin", "reader"))
    found = TokenFile(str(tokens(tmp_path, GOOD)))
    assert found({"HTTP_X_AUTH_TOKEN": "s3cret"}) == ann
    entry = {"user": "ann", "project": "red", "roles": ["admin", "reader"]}
    found = TokenFile(str(tokens(tmp_path, json.dumps({"s3cret": entry}))))
    assert found({"HTTP_X_AUTH_TOKEN": "s3cret"}) == ann


@pytest.mark.parametrize("sent", [None, "", "s3cre", "s3cret ", "\udcff"])
def test_unknown_token_is_401(tmp_path: Path, sent: str | None) -> None:
    found = TokenFile(str(tokens(tmp_path, GOOD)))
    with pytest.raises(Problem) as caught:
        found({} if sent is None else {"HTTP_X_AUTH_TOKEN": sent})
    assert caught.value.status == 401


def test_readable_tokens_file_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    TokenFile(str(tokens(tmp_path, GOOD, 0o600)))
    assert not caplog.messages
    TokenFile(str(tokens(tmp_path, GOOD, 0o640)))
    assert "chmod 600" in caplog.messages[0]


def test_changed_tokens_file_is_reloaded(tmp_path: Path) -> None:
    clock = Clock()
    path = tokens(tmp_path, GOOD)
    found = TokenFile(str(path), clock)
    tokens(tmp_path, GOOD.replace("s3cret", "new"))
    clock.now += 3
    assert found({"HTTP_X_AUTH_TOKEN": "new"}).user_id == "ann"
    with pytest.raises(Problem):
        found({"HTTP_X_AUTH_TOKEN": "s3cret"})


BROKEN = {
    "no YAML": ("][", "line 1"),
    "brackets in brackets": ("[" * 100, "nested too deeply"),
    "too large": ("#t0ken\n" * 200_000, "larger than 1048576 bytes"),
    "bytes": ("\n\udcff", "line 2"),
    "no user": ("\n\nt0ken: {roles: [a]}\n", "line 3"),
    "gone": ("", "No such file"),
    "a directory": ("", "Is a directory"),
    "a pipe": ("", "not a regular file"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_tokens_file_keeps_last_good_tokens(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    path = tokens(tmp_path, GOOD)
    found = TokenFile(str(path), clock)
    text, told = BROKEN[what]
    path.unlink()
    if what == "a directory":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    elif what != "gone":
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        path.chmod(0o600)
    for _ in range(5):
        clock.now += 3
        assert found({"HTTP_X_AUTH_TOKEN": "s3cret"}).user_id == "ann"
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert told in record.message
    assert str(path) in record.message
    assert "t0ken" not in record.message.replace(str(tmp_path), "")
    assert found.counts() == {"tokens_errors": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "][",
        "t0ken: {user: t0ken",
        "t0ken: admin",
        "t0ken: {roles: [a]}",
        "'': {user: t0ken}",
        "null: {user: t0ken}",
        "yes: {user: t0ken}",
        "0123: {user: t0ken}",
        "t0ken: {user: u, x: 1}",
        "t0ken: {user: u, roles: admin}",
    ],
)
def test_refusal_of_bad_tokens_file_shows_no_token(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused) as caught:
        TokenFile(str(tokens(tmp_path, text)))
    assert "t0ken" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("path", ["", "/nowhere/tokens.yaml"])
def test_token_strategy_needs_its_file(path: str) -> None:
    with pytest.raises(Refused):
        build_authenticator(AuthOptions("token", path))
