"""The wording of refusals, which differs from route to route.

Rules raise errors; the text that a route puts before the message, the status and the
code are part of the wire contract. A handler lists them as ``Wording`` values instead
of catching errors itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.wire.problem import Problem, translate
from gantt.errors import GanttError, NotFound
from gantt.model.commands import Command
from gantt.placement import queries

T = TypeVar("T")


class Wording(Struct, frozen=True):
    """The prefix, status and code for one kind of refusal."""

    kind: type[GanttError]
    prefix: str = ""
    status: int | None = None
    code: str | None = None


def submit(call: Call, command: Command[T], *wordings: Wording) -> T:
    """The answer to ``command``. Raises Problem, or the refusal itself if there is no
    wording for it."""
    try:
        return call.gantt.submit(command, call.request_id)
    except GanttError as error:
        raise worded(error, wordings) from None


def worded(error: GanttError, wordings: Iterable[Wording]) -> Exception:
    """``error`` in the first wording for it, or itself."""
    for wording in wordings:
        if isinstance(error, wording.kind):
            return translate(
                error, prefix=wording.prefix, status=wording.status, code=wording.code
            )
    return error


def provider_first(call: Call, uuid: str, decode: Callable[[], T]) -> T:
    """The result of ``decode``. If it refuses the body, a missing provider takes
    precedence; valid requests need no look-up for that."""
    try:
        return decode()
    except (Problem, GanttError):
        if call.gantt.read(queries.provider, uuid) is None:
            raise NotFound(no_provider(uuid)) from None
        raise


def no_provider(uuid: str) -> str:
    return f"No resource provider with uuid {uuid} found"
