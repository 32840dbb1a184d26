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


def text_of(cpus: Cpus) -> str:
    """A set as ranges and single CPUs, ascending; "none" where it is empty."""
    ranges: list[list[int]] = []
    for number in numbers_of(cpus):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in ranges) or "none"
