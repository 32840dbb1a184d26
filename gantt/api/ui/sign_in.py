"""POST /gantt/ui/sign-in: a user's password for a token, by way of this service.

Browsers are told to talk to nothing but this service, and few Keystones answer pages of
another origin; so it asks Keystone for them. It is no more than a way there: few at
once, short bodies, no redirect, only for pages of this origin, nothing kept or logged.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from gantt.api.call import UNREAD, Environ
from gantt.api.wire.media_types import JSON
from gantt.conf import Settings
from gantt.conf.credentials import Credentials, IssuedToken, can_sign_in, sign_in
from gantt.errors import GanttError

MOST_BYTES: Final = 8192

Ask = Callable[[Credentials], IssuedToken | None]


class SignInReply(Struct, frozen=True):
    """A status line and a JSON body."""

    status: str
    body: bytes


class SignIn:
    """``ask``: of Keystone; ``limit``: how many may be asked at once."""

    def __init__(self, ask: Ask, limit: int) -> None:
        self._ask = ask
        self._limit = limit
        self._lock = threading.Lock()
        self._present = 0
        self._turned_away = 0

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "sign_ins": self._present,
            "sign_ins_limit": self._limit,
            "sign_ins_turned_away": self._turned_away,
        }

    def answer(self, environ: Environ) -> SignInReply:
        """The answer to a POST."""
        if environ.get("HTTP_SEC_FETCH_SITE", "same-origin") != "same-origin":
            return _refused("403 Forbidden", "Only the dashboard may sign in here.")
        given = _read(environ)
        if isinstance(given, SignInReply):
            return given
        if not self._enter():
            text = "Too many are signing in (dashboard_sign_ins). Try again."
            return _refused("503 Service Unavailable", text)
        try:
            found = self._ask(given)
        except GanttError as error:
            return _refused("503 Service Unavailable", error.message)
        finally:
            self._leave()
        if found is None:
            return _refused("403 Forbidden", "Keystone refuses these credentials.")
        return SignInReply("200 OK", msgspec.json.encode(found))

    def _enter(self) -> bool:
        with self._lock:
            if self._present >= self._limit:
                self._turned_away += 1
                return False
            self._present += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._present -= 1


def build_sign_in(settings: Settings) -> SignIn | None:
    """How operators sign in, by the settings; None: only tokens are taken."""
    limit = settings.serve.dashboard_sign_ins
    if not limit or not can_sign_in(settings):
        return None
    return SignIn(partial(sign_in, settings.identity), limit)


def _read(environ: Environ) -> Credentials | SignInReply:
    """What was sent, or what is wrong with it; never with what it says."""
    if (environ.get("CONTENT_TYPE") or "").partition(";")[0].strip() != JSON:
        return _refused("415 Unsupported Media Type", f"Send {JSON}.")
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = -1
    if UNREAD in environ or not 0 < length <= MOST_BYTES:
        return _refused(
            "400 Bad Request", f"The body must have a length of 1 to {MOST_BYTES}."
        )
    try:
        return msgspec.json.decode(environ["wsgi.input"].read(length), type=Credentials)
    except (msgspec.DecodeError, UnicodeError):
        return _refused(
            "400 Bad Request",
            "The body must have user, password and project, and may have user_domain "
            "and project_domain.",
        )


def _refused(status: str, detail: str) -> SignInReply:
    code = int(status[:3])
    error = {"status": code, "title": status[4:], "detail": detail}
    return SignInReply(status, json.dumps({"errors": [error]}).encode())
