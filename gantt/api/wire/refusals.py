"""Which refusal wins, and in whose words it is told.

The rules say why something cannot be; what a route says before that, and under
which status and code, is part of the wire contract and differs from route to route.
A handler lists it as ``Wording`` values instead of catching errors itself.
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
    """How one kind of refusal is told."""

    kind: type[GanttError]
    prefix: str = ""
    status: int | None = None
    code: str | None = None


def submit(call: Call, command: Command[T], *wordings: Wording) -> T:
    """The answer to ``command``. Raises Problem, or the refusal if no wording is
    meant for it."""
    try:
        answer: T = call.gantt.submit(command, call.request_id)
        return answer
    except GanttError as error:
        raise worded(error, wordings) from None


def worded(error: GanttError, wordings: Iterable[Wording]) -> Exception:
    """``error`` in the words of the first wording that is meant for it."""
    for wording in wordings:
        if isinstance(error, wording.kind):
            return translate(
                error, prefix=wording.prefix, status=wording.status, code=wording.code
            )
    return error


def provider_first(call: Call, uuid: str, decode: Callable[[], T]) -> T:
    """What ``decode`` makes of the body; where it refuses, a provider that does not
    exist is the graver fault. Good requests pay no look-up for that."""
    try:
        return decode()
    except (Problem, GanttError):
        if call.gantt.read(queries.provider, uuid) is None:
            raise NotFound(no_provider(uuid)) from None
        raise


def no_provider(uuid: str) -> str:
    """What is said of a provider that does not exist."""
    return f"No resource provider with uuid {uuid} found"
