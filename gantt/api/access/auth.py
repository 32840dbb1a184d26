"""Authentication strategies: noauth2, a file of tokens, or Keystone.

Each is a function from the WSGI environment to a ``Caller``, so that the rest of the
service does not depend on the strategy.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import stat
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gantt.api.access.live_files import Live, line_of, parse, read_text, stamp_of
from gantt.api.call import Caller
from gantt.api.wire.problem import Problem
from gantt.conf import AuthOptions
from gantt.errors import Refused

LOG = logging.getLogger(__name__)

Environ = Mapping[str, Any]
Authenticate = Callable[[Environ], Caller]

# Documents that tell a client how to continue need no token.
OPEN_PATHS = frozenset(("", "/", "/gantt/openapi.json"))
# In the environment: the caller whose token was confirmed a moment ago.
CONFIRMED = "gantt.confirmed"
# In the environment of a request that only waits for this: to have its token confirmed.
UNCONFIRMED = "gantt.unconfirmed"
REREAD_S = 2.0
WHAT = "tokens file"


def build_authenticator(options: AuthOptions) -> Authenticate:
    """The configured strategy. Raises Refused."""
    if options.strategy == "noauth2":
        return noauth2
    if options.strategy == "token":
        return TokenFile(options.tokens_file)
    return keystone


def noauth2(environ: Environ) -> Caller:
    """Trust the token: ``user[:project]``, with roles from X-Roles. For tests."""
    token = environ.get("HTTP_X_AUTH_TOKEN")
    if token is None:
        raise unauthorized()
    user, _, project = token.partition(":")
    roles = environ.get("HTTP_X_ROLES")
    if roles is None:
        roles = "admin" if user == "admin" else ""
    scope = environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE") or None
    given = environ.get("HTTP_X_PROJECT_ID")
    return Caller(
        user_id=user,
        project_id=given or (None if scope else project or user),
        roles=_split(roles),
        system_scope=scope,
        domain_id=environ.get("HTTP_X_DOMAIN_ID") or None,
    )


def keystone(environ: Environ) -> Caller:
    """The identity set by keystonemiddleware, which has validated the token."""
    confirmed: Caller | None = environ.get(CONFIRMED)
    if confirmed is not None:
        return confirmed
    user = environ.get("HTTP_X_USER_ID") or environ.get("HTTP_X_USER")
    if not user:
        raise unauthorized()
    return Caller(
        user_id=user,
        project_id=environ.get("HTTP_X_PROJECT_ID")
        or environ.get("HTTP_X_TENANT_ID")
        or None,
        roles=_split(environ.get("HTTP_X_ROLES", "")),
        system_scope=environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE") or None,
        domain_id=environ.get("HTTP_X_DOMAIN_ID") or None,
    )


class Confirmed(Exception):
    """Keystone confirmed the token of an UNCONFIRMED request, which is not answered."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(caller.user_id)
        self.caller = caller


class TokenFile:
    """Tokens from a file: ``token: {user: u, project: p, roles: [admin]}``.

    Changes of the file apply within two seconds; while it is broken, which is logged,
    the last good tokens stay in force.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        if not path:
            raise Refused("auth_strategy token needs [gantt] tokens_file.")
        self._path = Path(path)
        self._clock = clock
        self._read_at = clock()
        self._live = Live(WHAT, lambda: stamp_of([self._path]), lambda _: self._load())

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {"tokens_errors": self._live.errors}

    def __call__(self, environ: Environ) -> Caller:
        sent = environ.get("HTTP_X_AUTH_TOKEN") or ""
        if self._clock() - self._read_at > REREAD_S:
            self._read_at = self._clock()
            self._live.look()
        digest = digest_of(sent)
        found = self._live.value.get(digest)
        # Digests are compared instead of tokens, so timing reveals nothing of use.
        if found is None or not hmac.compare_digest(found[0], digest):
            raise unauthorized()
        return found[1]

    def _load(self) -> dict[bytes, tuple[bytes, Caller]]:
        text, mode = read_text(WHAT, self._path)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            LOG.warning(
                "The tokens file %s can be read by other users: chmod 600 %s",
                self._path,
                self._path,
            )
        data = parse(WHAT, self._path, text)
        if not isinstance(data, dict) or not data:
            raise Refused(
                f"The tokens file {self._path} must map tokens to callers, such as "
                "secret: {user: admin, project: admin, roles: [admin]}."
            )
        # YAML reads 0123, yes and null as other values than clients would send; and an
        # empty token is what clients without a token send.
        if not all(isinstance(token, str) and token for token in data):
            raise Refused(
                f"Every token in {self._path} must be a non-empty string: "
                "quote tokens that consist of digits only, and yes, no and "
                "null."
            )
        pairs = [
            (digest_of(token), self._caller(entry, partial(line_of, token, text)))
            for token, entry in data.items()
        ]
        return {digest: (digest, caller) for digest, caller in pairs}

    def _caller(self, entry: object, place: Callable[[], str]) -> Caller:
        """One entry of the file; messages never contain the token."""
        if not isinstance(entry, dict) or not isinstance(entry.get("user"), str):
            raise Refused(
                f"Every token in {self._path}{place()} needs a user, such as "
                "{user: admin, project: admin, roles: [admin]}."
            )
        unknown = set(entry) - {"user", "project", "roles", "system_scope"}
        roles = entry.get("roles", [])
        if unknown or not isinstance(roles, list):
            raise Refused(
                f"The tokens file {self._path}{place()} may give user, project, roles "
                "(a list) and system_scope for a token"
                f"{'; not ' * bool(unknown)}{', '.join(map(str, unknown))}."
            )
        scope = entry.get("system_scope")
        project = entry.get("project")
        return Caller(
            user_id=entry["user"],
            project_id=None if project is None else str(project),
            roles=tuple(str(role) for role in roles),
            system_scope=None if scope is None else str(scope),
        )


def unauthorized() -> Problem:
    """The 401 for a caller without a valid token."""
    return Problem(401, vary=False)


def _split(roles: str) -> tuple[str, ...]:
    return tuple(role.strip() for role in roles.split(",") if role.strip())


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
