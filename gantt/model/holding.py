"""What a remote Placement holds for an instance of a claim.

Separate from rows because it is stored in one of them as JSON text: a claim records it,
so that any process that ends the claim can remove exactly what was added.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

Amounts = dict[str, dict[str, int]]
"""Provider uuid -> class -> amount."""


class Held(Struct, frozen=True):
    """The existing allocations of a consumer, and its generation."""

    generation: int
    allocations: Amounts


class Holding(Struct, frozen=True):
    """``allocations``: all that the consumer has once the claim is made; ``kept``:
    those that it had before, at ``generation`` (None: the consumer is new)."""

    allocations: Amounts
    project_id: str
    user_id: str
    generation: int | None = None
    kept: Amounts = {}

    @property
    def made_generation(self) -> int:
        """The consumer's generation after this claim wrote it, and its latest."""
        return 1 if self.generation is None else self.generation + 1

    @property
    def text(self) -> str:
        """The value as JSON text for its column."""
        return msgspec.json.encode(self).decode()


def holding(
    wanted: Amounts, held: Held | None, *, project_id: str, user_id: str
) -> Holding:
    """``wanted`` beside what is ``held``; where both name a provider, what is held
    stays as it is, and nothing is added."""
    if held is None:
        return Holding(wanted, project_id, user_id)
    both = {**wanted, **held.allocations}
    return Holding(both, project_id, user_id, held.generation, held.allocations)


def read_holding(text: str) -> Holding:
    """From the JSON text of the column."""
    return msgspec.json.decode(text, type=Holding)
