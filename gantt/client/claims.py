"""Writing a command without generation or type over HTTP, which requires both.

In process a consumer's generation and type may be left open. Older microversions leave
them open too, so the oldest that can express the command is used; if none can, the
current values are filled in, and the write is repeated after a lost race.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from gantt import errors
from gantt.client.exchange import NEWEST
from gantt.model.answers import ConsumerView
from gantt.model.commands import ConsumerAllocations

WITHOUT_GENERATIONS = "1.27"
WITHOUT_TYPES = "1.37"

Lookup = Callable[[str], ConsumerView | None]


def version_for(
    consumers: Sequence[ConsumerAllocations], *, oldest: str = WITHOUT_GENERATIONS
) -> str:
    """The oldest microversion, from ``oldest`` on, that can say what is given."""
    if any(consumer.consumer_type is not UNSET for consumer in consumers):
        return NEWEST
    if oldest != WITHOUT_GENERATIONS or any(
        consumer.generation is not UNSET for consumer in consumers
    ):
        return WITHOUT_TYPES
    return oldest


def is_open(consumers: Sequence[ConsumerAllocations], version: str) -> bool:
    """Whether something must be filled in that ``version`` asks for."""
    return any(_lacks(consumer, version) for consumer in consumers)


def filled_in(
    consumers: Sequence[ConsumerAllocations], version: str, lookup: Lookup
) -> tuple[ConsumerAllocations, ...]:
    """``consumers`` with all that ``version`` asks for, as the books have it now."""
    return tuple(
        _filled(consumer, version, lookup(consumer.consumer_uuid))
        if _lacks(consumer, version)
        else consumer
        for consumer in consumers
    )


def _lacks(consumer: ConsumerAllocations, version: str) -> bool:
    lacks_generation = version != WITHOUT_GENERATIONS and consumer.generation is UNSET
    return lacks_generation or (version == NEWEST and consumer.consumer_type is UNSET)


def _filled(
    consumer: ConsumerAllocations, version: str, known: ConsumerView | None
) -> ConsumerAllocations:
    if consumer.generation is UNSET:
        generation = None if known is None else known.generation
        consumer = msgspec.structs.replace(consumer, generation=generation)
    if version == NEWEST and consumer.consumer_type is UNSET:
        kind: str | UnsetType | None = known.consumer_type if known else None
        if not kind:
            raise errors.Invalid(
                f"No consumer_type was given for consumer {consumer.consumer_uuid}, "
                "which has none in the books, beside others that have one: over HTTP "
                "give a type for all consumers of a request or for none."
            )
        consumer = msgspec.structs.replace(consumer, consumer_type=kind)
    return consumer
