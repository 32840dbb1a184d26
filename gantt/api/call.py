"""One HTTP request as a handler sees it.

A ``Call`` is all that a handler gets: the engine, the caller, the microversion, and the
few ways in which Placement's answers are written. It keeps WSGI and the header rules
out of the handlers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from gantt.api.watchers import Watchers
from gantt.api.wire.candidate_answer import Encoder
from gantt.api.wire.media_types import JSON, accepts_json
from gantt.api.wire.problem import Problem
from gantt.engine.engine_protocol import Engine

if TYPE_CHECKING:
    from gantt.conf import ApiOptions

Environ = dict[str, Any]

CACHE_HEADERS_SINCE = 15
_ENCODING = "accept-encoding"
_LONG_BYTES = 8 * 1024
_QUICK = 1  # a tenth of the time of the default, a tenth more bytes
# In the environment of a request whose body the server has not read: the Problem that
# answers a request which needs it.
UNREAD = "gantt.unread"


# In the environment of a request that must not wait: one in the event loop.
AT_ONCE = "gantt.at_once"


class CacheMoment(Enum):
    """Used instead of a time of modification."""

    NONE = "no cache headers at all"
    NOW = "this moment"


NO_CACHE_HEADERS: Final = CacheMoment.NONE
NOW: Final = CacheMoment.NOW


class Caller(Struct, frozen=True):
    """An authenticated caller. ``system_scope`` is "all" or None; roles as sent."""

    user_id: str | None = None
    project_id: str | None = None
    roles: tuple[str, ...] = ()
    system_scope: str | None = None
    domain_id: str | None = None

    def __str__(self) -> str:
        """Who it is, for a refusal."""
        project = f"project {self.project_id}" if self.project_id else "no project"
        roles = f"roles {', '.join(self.roles)}" if self.roles else "no roles"
        return f"The caller is user {self.user_id} of {project} with {roles}."


ANONYMOUS: Final = Caller()


class AccessPolicy(Protocol):
    """Authorizes callers."""

    def allows(
        self,
        rule: str,
        caller: Caller,
        target: Mapping[str, str | None],
        *,
        at_once: bool = False,
    ) -> str:
        """Empty when ``caller`` may; otherwise the text of the refusal. With
        ``at_once`` it waits for nothing: raises WouldWait instead."""

    def needs(self, rule: str) -> str:
        """The check of ``rule`` as it is in force, as text; "": not known."""

    def counts(self) -> dict[str, float]:
        """For metrics."""


class Door(Struct, frozen=True):
    """What all calls of one application share."""

    gantt: Engine
    options: ApiOptions
    policy: AccessPolicy
    clock: Callable[[], float]
    candidates: Encoder = field(default_factory=Encoder)
    watchers: Watchers = field(default_factory=Watchers)


class Call:
    """One request, and its answer: ``status``, ``headers`` by lower-case name, and one
    of ``body`` and ``stream``, or neither."""

    __slots__ = (
        "body",
        "caller",
        "door",
        "environ",
        "gantt",
        "headers",
        "is_at_once",
        "is_negotiated",
        "options",
        "request_id",
        "status",
        "stream",
        "version",
    )

    def __init__(self, door: Door, environ: Environ, request_id: str) -> None:
        self.door = door
        self.gantt = door.gantt
        self.options = door.options
        self.environ = environ
        self.request_id = request_id
        self.caller = ANONYMOUS
        self.version = 0  # the N of 1.N
        self.is_negotiated = False
        # Answer without waiting, or raise WouldWait.
        self.is_at_once = AT_ONCE in environ
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body: bytes | None = None
        self.stream: Iterable[bytes] | None = None

    # ---------------------------------------------------------------- the request

    @property
    def prefix(self) -> str:
        """Where the service is mounted: "" or e.g. "/placement"."""
        return text_of(self.environ.get("SCRIPT_NAME", ""))

    @property
    def query_string(self) -> str:
        """The raw query, still percent-encoded."""
        return str(self.environ.get("QUERY_STRING", ""))

    def authorize(self, rule: str, **target: str | None) -> None:
        """Require that policy allows ``rule``, such as
        ``placement:resource_providers:list``, to the caller. Raises Problem 403."""
        refusal = self.door.policy.allows(
            rule, self.caller, target, at_once=self.is_at_once
        )
        if refusal == rule:  # the wrong scope: Placement shows the rule alone
            raise Problem(403, refusal, vary=False)
        if refusal:
            needed = self.door.policy.needs(rule)
            asked = f" It asks for {needed}." if needed else ""
            raise Problem(403, f"{refusal} {self.caller}{asked}", vary=False)

    def check_accept(self) -> None:
        """Raises Problem 406 unless a JSON answer is acceptable."""
        header = self.environ.get("HTTP_ACCEPT", JSON)
        if not accepts_json(header):
            raise Problem(406, "Only application/json is provided")

    def check_content_type(self) -> None:
        """Raises Problem 415 unless the content type is JSON."""
        sent = self.environ.get("CONTENT_TYPE") or ""
        if sent == JSON:
            return
        media_type = sent.partition(";")[0].strip()
        if media_type != JSON:
            raise Problem(
                415,
                f"The media type {media_type or None} is not supported, use {JSON}",
            )

    def json_body(self) -> bytes:
        """The body, not decoded yet. Raises Problem 415 (not JSON), 413 (too long)."""
        self.check_content_type()
        return self.raw_body()

    def raw_body(self) -> bytes:
        """The body, whatever its type. Raises Problem 413, and 408 or 503 where the
        server has given it up."""
        limit = self.options.max_body_bytes
        environ = self.environ
        unread: Problem | None = environ.get(UNREAD)
        if unread is not None:
            raise unread
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > limit:
            raise Problem(413, f"A body may have at most {limit} bytes.")
        if length > 0:
            return bytes(environ["wsgi.input"].read(length))
        if "HTTP_TRANSFER_ENCODING" not in environ:
            return b""
        body = bytes(environ["wsgi.input"].read(limit + 1))
        if len(body) > limit:
            raise Problem(413, f"A body may have at most {limit} bytes.")
        return body

    # -------------------------------------------------------------------- answers

    def reply(
        self,
        body: object,
        status: int = 200,
        modified_at: int | CacheMoment | None = NO_CACHE_HEADERS,
    ) -> None:
        """Answer with ``body`` as JSON; bytes are JSON already.

        ``modified_at``: microseconds since the epoch, NOW, None (unknown: the cache
        headers without ``last-modified``) or NO_CACHE_HEADERS.
        """
        self.status = status
        self.headers["content-type"] = JSON
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.cache_headers(modified_at)

    def no_content(
        self,
        status: int = 204,
        modified_at: int | CacheMoment | None = NO_CACHE_HEADERS,
    ) -> None:
        """Answer without a body: 204, or 201 with content-length 0."""
        self.status = status
        self.cache_headers(modified_at)

    def compress(self) -> None:
        """Send a long body as gzip to a client that accepts it; whether it does is then
        part of what caches must tell apart."""
        known = self.headers.get("vary")
        self.headers["vary"] = f"{known}, {_ENCODING}" if known else _ENCODING
        body = self.body or b""
        accepted = self.environ.get("HTTP_ACCEPT_ENCODING", "")
        if len(body) >= _LONG_BYTES and _accepts_gzip(accepted):
            self.headers["content-encoding"] = "gzip"
            self.body = gzip.compress(body, _QUICK, mtime=0)

    def location(self, path: str) -> None:
        """Name what was created: ``path`` below the prefix, starting with "/"."""
        environ = self.environ
        scheme = environ["wsgi.url_scheme"]
        host = environ.get("HTTP_HOST")
        if host is None:
            host, port = environ["SERVER_NAME"], environ["SERVER_PORT"]
            if port != ("443" if scheme == "https" else "80"):
                host = f"{host}:{port}"
        self.headers["location"] = f"{scheme}://{host}{self.prefix}{path}"

    def cache_headers(self, modified_at: int | CacheMoment | None) -> None:
        """Add the headers of microversion 1.15 and later."""
        if modified_at is NO_CACHE_HEADERS or self.version < CACHE_HEADERS_SINCE:
            return
        if modified_at is not None:
            if isinstance(modified_at, CacheMoment):
                second = int(self.door.clock())
            else:
                second = modified_at // 1_000_000
            self.headers["last-modified"] = _http_date(second)
        self.headers["cache-control"] = "no-cache"


def _accepts_gzip(accepted: str) -> bool:
    for one in accepted.split(","):
        coding, _, weight = one.replace(" ", "").partition(";q=")
        if coding == "gzip":
            return weight.strip("0.") != "" or not weight
    return False


def text_of(path: str) -> str:
    """A path of WSGI, which has bytes in a str, as text."""
    return path if path.isascii() else path.encode("latin-1").decode(errors="replace")


@lru_cache(maxsize=1024)
def _http_date(second: int) -> str:
    return formatdate(second, usegmt=True)
