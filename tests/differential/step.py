"""One request that both services get, and how a list of them is told to people.

Generations stand in a step as ``Now`` until it is sent: so that a story from which
steps were taken out still means what it meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct


class Now(Struct, frozen=True):
    """A generation when the step is sent, ``plus`` something when it shall be wrong.

    ``of`` is the path of a provider or of a consumer's allocations.
    """

    of: str
    plus: int = 0


class Step(Struct, frozen=True):
    """A request at microversion 1.``version``."""

    method: str
    target: str
    version: int
    body: Any = None

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    def __str__(self) -> str:
        tail = "" if self.body is None else f" {json.dumps(self.body)}"
        return f"{self.method} {self.target} @1.{self.version}{tail}"


def settle(step: Step, current: Callable[[str], int | None]) -> Step:
    """``step`` with numbers in place of each Now."""

    def fill(value: Any) -> Any:
        if isinstance(value, Now):
            found = current(value.of)
            return (found or 0) + value.plus if value.plus else found
        if isinstance(value, Mapping):
            return {key: fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [fill(each) for each in value]
        return value

    return Step(step.method, step.target, step.version, fill(step.body))
