"""Sets of CPUs as lists and as texts: ``0-3,8``.

Apart from the values that have them, because reports, messages and pictures of hosts
all write them. Within Gantt a set is a bit mask (``topology.Cpus``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gantt.model.topology import Cpus


def mask_of(numbers: Iterable[int]) -> Cpus:
    """The set of these CPUs, none of which may be negative."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def numbers_of(cpus: Cpus) -> Iterator[int]:
    """The CPUs of a set, ascending."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def text_of(cpus: Cpus, empty: str = "none") -> str:
    """A set as ranges and single CPUs, ascending; ``empty`` for the empty set."""
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in _ranges(cpus)) or empty


def cpus_of(text: str) -> Cpus:
    """The set of which ``text`` was made with ``empty=""``. Raises ValueError."""
    found = 0
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        found |= (2 << high) - (1 << low)
    return found


def _ranges(cpus: Cpus) -> Iterator[tuple[int, int]]:
    """(first, last) of CPUs without a gap, ascending."""
    first = 0
    while rest := cpus >> first:
        first += (rest & -rest).bit_length() - 1
        gaps = ~(cpus >> first)
        last = first + (gaps & -gaps).bit_length() - 2
        yield first, last
        first = last + 1
