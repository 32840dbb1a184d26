"""Tokens that keystonemiddleware confirmed a moment ago are not validated again."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gantt.api.access.auth import keystone
from gantt.api.access.confirmed_tokens import MOST_KNOWN, ConfirmedTokens
from gantt.api.call import AT_ONCE, Caller, Environ
from gantt.api.middleware import require_keystone
from gantt.conf import AuthOptions, load
from gantt.engine.reading.reader import WouldWait

TOKEN = "gAAAA"
NOVA = Caller("nova", "service", ("admin", "service"), None, None)


class Identity:
    """Replaces Keystone: counts what it is asked, and knows one token."""

    def __init__(self) -> None:
        self.asked = 0
        self.more: dict[str, Any] = {}
        self.expires_at = datetime.now(UTC) + timedelta(hours=1)

    def verify_token(self, token: str, **_: Any) -> dict[str, Any]:
        from keystonemiddleware.auth_token import _exceptions

        self.asked += 1
        if token != TOKEN:
            raise _exceptions.InvalidToken("unknown")
        default = {"id": "default", "name": "Default"}
        return {
            "token": {
                "methods": ["password"],
                "user": {"id": "nova", "name": "nova", "domain": default},
                "project": {"id": "service", "name": "service", "domain": default},
                "roles": [{"id": name, "name": name} for name in NOVA.roles],
                "expires_at": self.expires_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "issued_at": "2020-01-01T00:00:00.000000Z",
                **self.more,
            }
        }


class Guarded:
    """keystonemiddleware, without its cache, before an application."""

    def __init__(self, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
        from keystonemiddleware.auth_token import AuthProtocol

        self.identity = Identity()
        self.now = 100.0
        self.callers: list[Caller] = []
        self.body = b""
        patch.setattr(AuthProtocol, "_create_identity_server", lambda _: self.identity)
        patch.setattr(AuthProtocol, "_token_cache_factory", lambda _: NoCache())
        config = tmp_path / "gantt.conf"
        config.write_text("[keystone_authtoken]\nwww_authenticate_uri = https://k/\n")
        self.tokens = ConfirmedTokens(AuthOptions(), monotonic=lambda: self.now)
        self._app = require_keystone(
            self._answer,
            load([str(config)]).oslo,
            lambda environ: False,
            self.tokens,
        )

    def _answer(self, environ: Environ, start: Any) -> list[bytes]:
        self.callers.append(keystone(environ))
        start("200 OK", [])
        return [b""]

    def __call__(self, token: str | None = TOKEN, /, **more: Any) -> str:
        """The status."""
        statuses: list[str] = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/allocations/1",
            "QUERY_STRING": "",
            "SERVER_NAME": "h",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            **({} if token is None else {"HTTP_X_AUTH_TOKEN": token}),
            **more,
        }
        found = self._app(environ, lambda status, *_: statuses.append(status))
        self.body = b"".join(found)
        return statuses[0]


class NoCache:
    def initialize(self, environ: Environ) -> None:
        """As a cache."""

    def get(self, token: str) -> None:
        """Nothing is known."""

    def set(self, token: str, data: object) -> None:
        """Nothing is kept."""


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guarded:
    return Guarded(tmp_path, monkeypatch)


def test_token_is_validated_once_a_second(guarded: Guarded) -> None:
    for _ in range(5):
        assert guarded() == "200 OK"
    assert guarded.identity.asked == 1
    assert set(guarded.callers) == {NOVA}
    guarded.now += AuthOptions().confirmed_tokens_s
    guarded()
    assert guarded.identity.asked == 2


def test_headers_of_the_client_do_not_replace_its_token(guarded: Guarded) -> None:
    guarded()
    forged = {"HTTP_X_USER_ID": "root", "HTTP_X_ROLES": "member"}
    guarded(**forged)
    assert guarded.identity.asked == 1
    assert set(guarded.callers) == {NOVA}
    forged["HTTP_X_IDENTITY_STATUS"] = "Confirmed"
    assert guarded("another", **forged).startswith("401")
    assert guarded(None, **forged).startswith("401")
    assert len(guarded.callers) == 2


@pytest.mark.parametrize(
    "answer", [{"token": []}, {"token": {"user": 3}}, AttributeError("no JSON")]
)
def test_an_answer_that_is_none_of_keystone_is_a_503_with_a_body(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    def verify_token(*_: object, **__: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Identity, "verify_token", verify_token)
    status = guarded()
    assert status.startswith("503")
    assert guarded.body
    assert guarded.callers == []


def test_a_token_stays_known_while_keystone_is_away(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keystonemiddleware.auth_token import _exceptions

    def away(*_: object, **__: object) -> Any:
        raise _exceptions.ServiceError("away")

    def unknown(*_: object, **__: object) -> Any:
        raise _exceptions.InvalidToken("revoked")

    sent = {"HTTP_X_AUTH_TOKEN": TOKEN}
    guarded()
    guarded.now += AuthOptions().confirmed_tokens_s
    monkeypatch.setattr(Identity, "verify_token", away)
    assert guarded().startswith("503")
    assert guarded.tokens.is_known(sent)
    monkeypatch.setattr(Identity, "verify_token", unknown)
    assert guarded().startswith("401")
    assert not guarded.tokens.is_known(sent)


def test_unknown_tokens_are_asked_about_each_time(guarded: Guarded) -> None:
    for _ in range(2):
        assert guarded("another").startswith("401")
    assert guarded.identity.asked == 2


@pytest.mark.parametrize(
    "more",
    [
        {"application_credential": {"id": "a", "access_rules": []}},
        {"bind": {"kerberos": "nova"}},
        {"oauth2_credential": {"x5t#S256": "a"}},
        {"expires_at": "2099-01-01T00:00:00"},
    ],
)
def test_restricted_tokens_are_validated_each_time(
    guarded: Guarded, more: dict[str, Any]
) -> None:
    guarded.identity.more = more
    statuses = {guarded() for _ in range(3)}
    assert len(statuses) == 1
    assert guarded.identity.asked == 3


def test_token_is_not_used_beyond_its_end(guarded: Guarded) -> None:
    guarded.identity.expires_at = datetime.now(UTC) + timedelta(seconds=0.5)
    guarded()
    guarded.now += 0.5
    guarded()
    assert guarded.identity.asked == 2


def test_service_token_is_validated_each_time(guarded: Guarded) -> None:
    guarded()
    guarded(HTTP_X_SERVICE_TOKEN=TOKEN)
    assert guarded.identity.asked == 3


def test_keystone_is_not_waited_for_in_the_event_loop(guarded: Guarded) -> None:
    with pytest.raises(WouldWait):
        guarded(**{AT_ONCE: True})
    assert guarded.identity.asked == 0
    guarded()
    assert guarded(**{AT_ONCE: True}) == "200 OK"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (AuthOptions(confirmed_tokens=3), 2),
        (AuthOptions(confirmed_tokens=10), 8),
        (AuthOptions(confirmed_tokens=0), 0),
    ],
)
def test_number_of_tokens_is_limited(options: AuthOptions, kept: int) -> None:
    most = options.confirmed_tokens
    tokens = ConfirmedTokens(options, monotonic=lambda: 0.0)
    info = {"token": {"expires_at": "2099-01-01T00:00:00Z"}}
    for number in range(8):
        environ = {
            "HTTP_X_AUTH_TOKEN": str(number),
            "HTTP_X_IDENTITY_STATUS": "Confirmed",
            "HTTP_X_USER_ID": "u",
            "keystone.token_info": info,
        }
        tokens.remember(environ)
        assert tokens.recognize(environ) == (most > 0)
        assert tokens.counts()["confirmed_tokens"] <= most
    assert tokens.counts() == {
        "confirmed_tokens": kept,
        "confirmed_tokens_limit": most,
        "known_tokens": 8,
        "known_tokens_limit": MOST_KNOWN,
    }


def test_validation_of_every_request_can_be_chosen() -> None:
    tokens = ConfirmedTokens(AuthOptions(confirmed_tokens_s=0), monotonic=lambda: 0.0)
    environ = {
        "HTTP_X_AUTH_TOKEN": TOKEN,
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_USER_ID": "u",
        "keystone.token_info": {"token": {"expires_at": "2099-01-01T00:00:00Z"}},
    }
    tokens.remember(environ)
    assert not tokens.recognize(environ)
