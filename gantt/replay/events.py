"""What happens in a trace: requests for instances, and when these go."""

from __future__ import annotations

from msgspec import Struct

from gantt.model.spec import RequestSpec


class Arrival(Struct, frozen=True):
    """A request for ``len(names)`` instances that are alike, placed together or not at
    all.

    ``at``: microseconds since the start of the trace. ``names``: of the instances, each
    once in a trace. ``until``: when each goes; None: not within the trace.
    """

    at: int
    names: tuple[str, ...]
    spec: RequestSpec
    until: tuple[int | None, ...]


class Skipped(Struct, frozen=True):
    """A place in a trace that could not be read."""

    file: str
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.reason}"
