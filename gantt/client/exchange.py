"""One request to the service and its reply, or the error that the reply means.

Separate from the client's methods because microversions, JSON bodies and the bounded
retries after a lost race are the same for all of them. Gantt names the class of an
error in a header; OpenStack Placement sends only status and code, and where one code
has several causes, the text decides, here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, TypeVar

import msgspec

from gantt import errors
from gantt.client.transport import Reply, Transport
from gantt.model.selection import Why

NEWEST = "1.39"
MAX_TRIES = 10
T = TypeVar("T")
Propagate = Callable[[], Mapping[str, str]]
MICROVERSION_ADVICE = "Gantt's client speaks Placement 1.39: upgrade the service"
ERROR = "gantt-error"
BY_ERROR: dict[str, type[errors.GanttError]] = {
    kind.code: kind for kind in errors.every_kind()
}
# Errors without a code of their own in OpenStack Placement; the first match wins.
BY_TEXT: tuple[tuple[int, str, type[errors.GanttError]], ...] = (
    (400, "No such resource class", errors.UnknownResourceClass),
    (400, "Unknown resource class", errors.UnknownResourceClass),
    (400, "No such trait", errors.UnknownName),
    (400, "that does not exist", errors.UnknownProvider),
    # Deleting a single inventory in use has the code of a generation conflict.
    (409, "Unable to delete inventory of class", errors.InventoryInUse),
    (409, "Unable to allocate inventory", errors.DoesNotFit),
    (409, "consumer generation conflict", errors.ConsumerMoved),
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BY_CODE: dict[str, type[errors.GanttError]] = {
    "placement.concurrent_update": errors.ConcurrentUpdate,
    "placement.inventory.inuse": errors.InventoryInUse,
    "placement.duplicate_name": errors.DuplicateName,
    "placement.resource_provider.inuse": errors.ProviderInUse,
    "placement.resource_provider.cannot_delete_parent": errors.ProviderHasChildren,
    "placement.resource_provider.not_found": errors.UnknownProvider,
    "gantt.claim_lost": errors.ClaimLost,
    "gantt.claim_expired": errors.ClaimExpired,
    "gantt.already_claimed": errors.AlreadyClaimed,
    "gantt.plugin_failed": errors.PluginFailed,
}
NO_VALID_HOST = "gantt.no_valid_host"
BY_STATUS: dict[int, type[errors.GanttError]] = {
    401: errors.Forbidden,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Gone,
    429: errors.Busy,
    500: errors.StoreFailed,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}


class Exchange:
    """Speaks JSON at a microversion over a transport. ``propagate``: headers that join
    each request to what its thread works on, such as a trace."""

    def __init__(self, transport: Transport, propagate: Propagate = dict) -> None:
        self._transport = transport
        self._propagate = propagate

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = NEWEST,
        headers: Mapping[str, str] = MappingProxyType({}),
        into: BinaryIO | None = None,
    ) -> Reply:
        """The reply to a successful request, its body in the file ``into`` if one is
        given. Raises the refusal otherwise."""
        sent = {
            **self._propagate(),
            **headers,
            "accept": "application/json",
            "openstack-api-version": f"placement {version}",
        }
        data: bytes | None = None
        if body is not None:
            sent["content-type"] = "application/json"
            try:
                data = msgspec.json.encode(body)
            except (TypeError, ValueError, OverflowError) as error:
                raise errors.Invalid(
                    f"{method} {path} cannot be sent as JSON: {error}."
                ) from error
        reply = self._transport.send(method, path, headers=sent, body=data, into=into)
        if reply.status >= 300:
            raise refusal(reply, request=f"{method} {path}")
        return reply

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()


def until_settled(attempt: Callable[[], T]) -> T:
    """Repeat ``attempt``, which reads a generation and writes at it, after lost races.

    Raises the last ConcurrentUpdate after MAX_TRIES.
    """
    for _ in range(MAX_TRIES - 1):
        try:
            return attempt()
        except errors.ConcurrentUpdate:
            continue
    return attempt()


class NoSuchRoute(errors.NotFound):
    """The service does not serve the path: not the same as an unknown object."""


def refusal(reply: Reply, *, request: str) -> errors.GanttError:
    """The error for an unsuccessful ``reply`` to ``request``."""
    problem = _problem(reply)
    own = _own_text(problem.get("detail", ""))
    text = own or problem.get("title", "")
    if not text:
        text = f"{request} was answered with status {reply.status} and no reason given."
    if reply.status == 406 and "max_version" in problem:
        return errors.Invalid(
            f"{text} The service speaks up to {problem['max_version']}. "
            f"{MICROVERSION_ADVICE}."
        )
    if reply.status == 401:
        text = f"{text} Give a token that the service knows (--token, GANTT_TOKEN)."
    code = problem.get("code", "")
    if code == NO_VALID_HOST:
        return errors.NoValidHost(text, _why(problem.get("why")))
    if reply.status == 404 and not own:
        return NoSuchRoute(text)
    kind = BY_ERROR.get(reply.headers.get(ERROR, ""))
    found = (kind or _class_of(reply.status, code, text))(text)
    found.named = frozenset(_UUID.findall(text))
    return found


def _why(given: Any) -> Why | None:
    """The reasons, if the service sends them in a known form."""
    try:
        return msgspec.convert(given, Why)
    except msgspec.ValidationError:
        return None


def _class_of(status: int, code: str, text: str) -> type[errors.GanttError]:
    for when, part, found in BY_TEXT:
        if when == status and part in text:
            return found
    if code in BY_CODE:
        return BY_CODE[code]
    if status >= 500:
        return BY_STATUS.get(status, errors.Unavailable)
    return BY_STATUS.get(status, errors.Invalid)


def _problem(reply: Reply) -> dict[str, Any]:
    """The first of the errors in the body, or another message in the body."""
    try:
        found = msgspec.json.decode(reply.body)
        if isinstance(found, dict) and found.get("errors"):
            return dict(found["errors"][0])
        if isinstance(found, dict) and "message" in found:
            return {"detail": str(found["message"]).strip()}
    except (msgspec.DecodeError, TypeError, ValueError, KeyError):
        # From a proxy or web server in front of the service.
        text = reply.body[:200].decode("utf-8", "replace").strip()
        return {"title": f"status {reply.status}: {text}" if text else ""}
    return {}


def _own_text(detail: str) -> str:
    """The part after the standard sentence of the status."""
    stock, gap, own = detail.partition("\n\n")
    return own.strip() if gap else stock.strip()
