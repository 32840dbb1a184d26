"""Syntax of amounts, labels and names on a command line.

VCPU=4                      4 of a resource class (VCPU:4 is accepted as well)
VCPU=4 VCPU:reserved=1      a field of an inventory
host1:VCPU=4                an amount on a provider
HW_CPU_X86_AVX2             a trait; in:A,B any of several
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from msgspec.structs import replace

from gantt.model.commands import Inventory
from gantt.model.requests import Labels

FIELDS = tuple(field for field in Inventory.__struct_fields__)


def amounts(words: Iterable[str]) -> dict[str, int]:
    """Parse ``RC=N`` words; one word may have several, separated by commas."""
    found: dict[str, int] = {}
    for word in words:
        for part in word.split(","):
            separator = "=" if "=" in part else ":"
            name, found_separator, amount = part.partition(separator)
            if not (name and found_separator):
                raise click.UsageError(
                    f"{part!r} is not an amount: write it as VCPU=4."
                )
            found[name] = _whole(amount, part)
    return found


def placed_amounts(
    words: Iterable[str], default: str | None
) -> dict[str, dict[str, int]]:
    """Parse ``[PROVIDER:]RC=N`` words, by provider; ``default`` if none is given."""
    found: dict[str, dict[str, int]] = {}
    for word in words:
        left, separator, amount = word.rpartition("=")
        provider, colon, name = left.rpartition(":")
        place = provider if colon else default
        if not (separator and name):
            raise click.UsageError(
                f"{word!r} is not an amount: write it as HOST:VCPU=4."
            )
        if not place:
            raise click.UsageError(
                f"{word!r} names no provider: write HOST:{word}, or give --provider."
            )
        found.setdefault(place, {})[name] = _whole(amount, word)
    return found


def inventories(
    words: Iterable[str], known: dict[str, Inventory]
) -> dict[str, Inventory]:
    """Parse ``RC=TOTAL`` and ``RC:FIELD=N`` words; other fields keep known values."""
    given: dict[str, dict[str, float]] = {}
    for word in words:
        left, separator, amount = word.partition("=")
        name, _, field = left.partition(":")
        field = field or "total"
        if not (separator and name) or field not in FIELDS:
            raise click.UsageError(
                f"{word!r} is not an inventory: write RC=TOTAL or RC:FIELD=N, "
                f"with FIELD one of {', '.join(FIELDS)}."
            )
        number = _ratio if field == "allocation_ratio" else _whole
        given.setdefault(name, {})[field] = number(amount, word)
    for name, fields in given.items():
        if name not in known and "total" not in fields:
            raise click.UsageError(
                f"{name} is new on this provider: give its total, as in {name}=4."
            )
    return {
        name: replace(known.get(name, Inventory(total=1)), **fields)
        for name, fields in given.items()
    }


def labels(required: Iterable[str], forbidden: Iterable[str]) -> Labels:
    """Required names (``in:A,B``: at least one of them) and forbidden ones."""
    return Labels(
        required=tuple(
            frozenset(_split(word.removeprefix("in:")))
            if word.startswith("in:")
            else frozenset({word})
            for word in required
        ),
        forbidden=frozenset(name for word in forbidden for name in _split(word)),
    )


def _split(word: str) -> list[str]:
    return [name.strip() for name in word.split(",") if name.strip()]


def _whole(text: str, word: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise click.UsageError(f"{word!r}: {text!r} is not a whole number.") from None


def _ratio(text: str, word: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"{word!r}: {text!r} is not a number.") from None


def capacity_of(record: Inventory) -> int:
    """How much of a class may be allocated."""
    return int((record.total - record.reserved) * record.allocation_ratio)
