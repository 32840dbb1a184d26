"""Amounts as people read them: 385024 MB of memory are 376 GiB.

Apart from the values, which keep the units of Placement and Nova.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Final, TypeAlias

_MEMORY: Final = "MEMORY_MB"
_GIB: Final = 1024
Quantity: TypeAlias = int | float | str
"""An amount as people write it: 4, "4" or "4GiB"; a number has the unit of its
class."""
# No two runs of spaces that may share one: a long run would be tried in all ways.
_WRITTEN: Final = re.compile(r"\s*(-?\d+(?:\.\d+)?)(?:\s*([A-Za-z]+))?\s*", re.ASCII)
_LETTERS: Final = "KMGTP"
_BYTES: Final = {
    unit.lower(): base**power
    for power, letter in enumerate(_LETTERS, 1)
    for base, units in ((1024, (f"{letter}iB", f"{letter}i")), (1000, (f"{letter}B",)))
    for unit in units
}
# What the names of classes that are counted in bytes end with.
_UNITS: Final = {"_KB": 2**10, "_MB": 2**20, "_GB": 2**30}


def whole_amount(resource_class: str, given: Quantity) -> int:
    """``given`` in the unit of the class; of bytes as many as are needed to hold it.
    Raises ValueError, which says what is wrong."""
    if type(given) is int:  # as most are
        return given
    return _whole(_UNITS.get(resource_class[-3:]), given)


def whole_bytes(given: Quantity) -> int:
    """``given`` in bytes. Raises ValueError, which says what is wrong."""
    return _whole(1, given)


def _whole(unit: int | None, given: Quantity) -> int:
    usual = (
        "write a whole number"
        if unit is None
        else f"write a number of {_name_of(unit)}, or a unit with it, as in 4GiB"
    )
    found = None if isinstance(given, bool) else _WRITTEN.fullmatch(str(given))
    if found is None:
        raise ValueError(f"{given!r} is no amount: {usual}")
    number, letters = Fraction(found[1]), (found[2] or "").lower()
    if letters:
        if unit is None or letters not in _BYTES:
            raise ValueError(f"{given!r} has a unit that does not fit: {usual}")
        number = Fraction(ceil(number * _BYTES[letters] / unit))
    if number.denominator != 1:
        raise ValueError(f"{given!r} is not whole: {usual}")
    return int(number)


def _name_of(unit: int) -> str:
    return f"{_LETTERS[(unit.bit_length() - 1) // 10 - 1]}iB" if unit > 1 else "bytes"


def quantity(resource_class: str, amount: float, *, is_exact: bool = False) -> str:
    """So much of a class: memory with its unit, anything else as a number.
    ``is_exact``: not rounded, for what is to be asked."""
    if resource_class == _MEMORY and amount:
        return memory(int(amount), is_exact=is_exact)
    return f"{int(amount)}" if amount == int(amount) else f"{amount:.2f}"


def less_text(resource_class: str, less: int, asked: int) -> str:
    """So much instead of what was asked: ``less`` not rounded, both in one unit."""
    if resource_class == _MEMORY and less % _GIB:
        return f"{less} MiB instead of {asked} MiB"
    exact = quantity(resource_class, less, is_exact=True)
    return f"{exact} instead of {quantity(resource_class, asked)}"


def memory(mb: int, *, is_exact: bool = False) -> str:
    """GiB where it is a whole number of these; else MiB, or above 10 GiB, unless
    ``is_exact``, about so many GiB."""
    if mb % _GIB == 0 and mb:
        return f"{mb // _GIB} GiB"
    is_small = is_exact or mb < 10 * _GIB
    return f"{mb} MiB" if is_small else f"{mb / _GIB:.1f} GiB"


def amount_text(resource_class: str, amount: float) -> str:
    """So much of a class, with its name."""
    return f"{quantity(resource_class, amount)} {resource_class}"
