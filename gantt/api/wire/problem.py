"""Errors on the wire: status, headers, and a body as JSON, HTML or text.

Placement's clients parse the texts around the specific message (they cut the message
off after the last newline of ``detail``), so these are the same to the byte. Handlers
raise ``Problem`` and never build an error body.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from gantt import errors
from gantt.api.wire.media_types import HTML, JSON, best_error_type

UNDEFINED_CODE = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_IN_USE = "placement.inventory.inuse"
DUPLICATE_NAME = "placement.duplicate_name"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_HAS_CHILDREN = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_MISSING_VALUE = "placement.query.missing_value"
NO_VALID_HOST = "gantt.no_valid_host"
CLAIM_LOST = "gantt.claim_lost"
CLAIM_EXPIRED = "gantt.claim_expired"
ALREADY_CLAIMED = "gantt.already_claimed"
GONE = "gantt.gone"
PLUGIN_FAILED = "gantt.plugin_failed"

# The header with the class of the error, so that Gantt's client need not parse texts.
ERROR = "gantt-error"
CODES_SINCE = 23
# Verdicts, which are part of the contract, quote the schema and the body; headers are
# quoted at less length.
LONGEST = 20_000
LONGEST_HEADER = 500
RETRY_AFTER_S = 1

# status -> (title, text around the specific message)
STATUSES: dict[int, tuple[str, str]] = {
    400: (
        "Bad Request",
        "The server could not comply with the request since it is either "
        "malformed or otherwise incorrect.<br /><br />\n{detail}\n\n",
    ),
    401: (
        "Unauthorized",
        "This server could not verify that you are authorized to access the "
        "document you requested. Either you supplied the wrong credentials "
        "(e.g., bad password), or your browser does not understand how to supply "
        "the credentials required.<br /><br />\n{detail}\n\n",
    ),
    403: (
        "Forbidden",
        "Access was denied to this resource.<br /><br />\n{detail}\n\n",
    ),
    404: (
        "Not Found",
        "The resource could not be found.<br /><br />\n{detail}\n\n",
    ),
    405: (
        "Method Not Allowed",
        "The method {method} is not allowed for this resource. <br /><br />\n{detail}",
    ),
    406: (
        "Not Acceptable",
        "The resource could not be generated that was acceptable to your browser\n"
        "(content of type {accept}. <br /><br />\n{detail}",
    ),
    408: (
        "Request Timeout",
        "Your request did not arrive in time.<br /><br />\n{detail}\n\n",
    ),
    409: (
        "Conflict",
        "There was a conflict when trying to complete your request."
        "<br /><br />\n{detail}\n\n",
    ),
    410: (
        "Gone",
        "This resource is no longer available.<br /><br />\n{detail}\n\n",
    ),
    413: (
        "Request Entity Too Large",
        "The body of your request was too large for this server."
        "<br /><br />\n{detail}\n\n",
    ),
    414: (
        "Request-URI Too Long",
        "The request URI was too long for this server.<br /><br />\n{detail}\n\n",
    ),
    415: (
        "Unsupported Media Type",
        "The request media type {content_type} is not supported by this server.\n"
        "<br /><br />\n{detail}",
    ),
    500: (
        "Internal Server Error",
        "The server has either erred or is incapable of performing the requested "
        "operation.<br /><br />\n{detail}\n\n",
    ),
    503: (
        "Service Unavailable",
        "The server is currently unavailable. Please try again at a later time."
        "<br /><br />\n{detail}\n\n",
    ),
}

STATUS_LINES: dict[int, str] = {
    200: "200 OK",
    201: "201 Created",
    204: "204 No Content",
    **{status: f"{status} {title}" for status, (title, _) in STATUSES.items()},
}

# The first class that an error is an instance of decides.
TRANSLATIONS: tuple[tuple[type[errors.GanttError], int, str], ...] = (
    (errors.ConcurrentUpdate, 409, CONCURRENT_UPDATE),
    (errors.DuplicateName, 409, DUPLICATE_NAME),
    (errors.InventoryInUse, 409, INVENTORY_IN_USE),
    (errors.ProviderInUse, 409, PROVIDER_IN_USE),
    (errors.ProviderHasChildren, 409, PROVIDER_HAS_CHILDREN),
    (errors.ClaimLost, 409, CLAIM_LOST),
    (errors.ClaimExpired, 409, CLAIM_EXPIRED),
    (errors.AlreadyClaimed, 409, ALREADY_CLAIMED),
    (errors.Conflict, 409, UNDEFINED_CODE),
    (errors.NoValidHost, 409, NO_VALID_HOST),
    (errors.Gone, 410, GONE),
    (errors.Invalid, 400, UNDEFINED_CODE),
    (errors.NotFound, 404, UNDEFINED_CODE),
    (errors.Forbidden, 403, UNDEFINED_CODE),
    (errors.BudgetSpent, 400, UNDEFINED_CODE),
    (errors.PluginFailed, 500, PLUGIN_FAILED),
    (errors.Unavailable, 503, UNDEFINED_CODE),
    (errors.GanttError, 500, UNDEFINED_CODE),
)


class Problem(Exception):
    """An error answer; any handler may raise it.

    A long ``detail`` is shortened. ``vary`` False: the answer has no ``vary`` header,
    as the contract wants for a missing provider and for 403. ``headers``: further
    headers; ``extra``: further fields of the error in a JSON body.
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        code: str = UNDEFINED_CODE,
        *,
        vary: bool = True,
        headers: Iterable[tuple[str, str]] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, errors.shortened(detail, LONGEST), code)
        self.status = status
        self.detail = errors.shortened(detail, LONGEST)
        self.code = code
        self.vary = vary
        self.headers = tuple(headers)
        self.extra = _cut(extra or {})


def translate(
    error: errors.GanttError,
    *,
    prefix: str = "",
    status: int | None = None,
    code: str | None = None,
) -> Problem:
    """The Problem for ``error``.

    A route may put ``prefix`` before the message, and replace ``status`` and ``code``.
    """
    usual_status, usual_code = next(
        (usual_status, usual_code)
        for kind, usual_status, usual_code in TRANSLATIONS
        if isinstance(error, kind)
    )
    final = status or usual_status
    # Errors that a route words itself have ``vary``; other 403 and 404 do not.
    bare = final in (403, 404) and not (prefix or status or code)
    headers = [(ERROR, error.code)]
    if final == 503:
        headers.append(("retry-after", str(RETRY_AFTER_S)))
    return Problem(
        final,
        prefix + error.public,
        code or usual_code,
        vary=not bare,
        headers=headers,
    )


def _cut(value: Any) -> Any:
    """``value`` with its long texts shortened."""
    if isinstance(value, str):
        return errors.shortened(value)
    if isinstance(value, Mapping):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item) for item in value]
    return value


class Scene(Struct, frozen=True):
    """What an error body shows of its request. ``version`` None: not negotiated yet."""

    method: str
    accept: str
    content_type: str
    request_id: str
    version: int | None


def render(problem: Problem, scene: Scene) -> tuple[str, bytes]:
    """Content type and body of ``problem``, by the Accept header of the caller."""
    kind = best_error_type(scene.accept)
    if kind == JSON:
        return kind, json.dumps(_as_json(problem, scene)).encode()
    line = STATUS_LINES[problem.status]
    if kind == HTML:
        body = _fill(problem, scene, escape=True)
        page = _PAGE.format(line=line, body=body)
        return "text/html; charset=UTF-8", page.encode()
    text = f"{line}\n\n{_strip(_fill(problem, scene))}"
    return "text/plain; charset=UTF-8", text.encode()


def _as_json(problem: Problem, scene: Scene) -> dict[str, Any]:
    title = STATUSES[problem.status][0]
    if problem.status == 401:  # the exception among error bodies
        return {
            "message": _fill(problem, scene),
            "code": f"401 {title}",
            "title": title,
        }
    error: dict[str, Any] = {
        "status": problem.status,
        "title": title,
        "detail": _strip(_fill(problem, scene)),
    }
    if scene.version is not None and scene.version >= CODES_SINCE:
        error["code"] = problem.code
    error["request_id"] = scene.request_id
    error.update(problem.extra)
    return {"errors": [error]}


def _fill(problem: Problem, scene: Scene, *, escape: bool = False) -> str:
    values = {
        "detail": problem.detail,
        "method": errors.shortened(scene.method, LONGEST_HEADER),
        "accept": errors.shortened(scene.accept, LONGEST_HEADER),
        "content_type": errors.shortened(scene.content_type or "None", LONGEST_HEADER),
    }
    if escape:
        values = {key: html.escape(value) for key, value in values.items()}
    return STATUSES[problem.status][1].format(**values)


_PAGE = """<html>
 <head>
  <title>{line}</title>
 </head>
 <body>
  <h1>{line}</h1>
  {body}
 </body>
</html>"""

_BREAK = re.compile(r"<br.*?>", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"<!--|-->")
_TAG = re.compile(r"<.*?>", re.DOTALL)


def _strip(text: str) -> str:
    """Newlines become spaces, breaks become newlines, other tags are removed."""
    text = text.replace("\n", " ").replace("\r", "")
    text = _BREAK.sub("\n", text)
    text = _COMMENT.sub("", text)
    return _TAG.sub("", text)
