"""Amounts as people read them: 385024 MB of memory are 376 GiB.

Apart from the values, which keep the units of Placement and Nova.
"""

from __future__ import annotations

from typing import Final

_MEMORY: Final = "MEMORY_MB"
_GIB: Final = 1024


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
