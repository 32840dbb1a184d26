"""Which tests each worker of a run begins with.

A worker gets neighbours, and gives away the last of them when another has none left.
So folders with long tests come first, those that wait beside those that compute: what
waits leaves the processors to what does not, one worker alone starts browsers, and at
the end, when workers share what is left, that is small tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

# What one worker after the other begins with: a browser and many programs, at most one
# of which runs at a time; what waits most; what does some of both.
LONG: Final = (
    ("ui", "attacks", "openstack"),
    ("stream", "fleet", "liveness"),
    ("crash", "clients"),
)


def workers() -> int:
    """How many workers this run has; 1: it has none."""
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def spread(
    items: Sequence[pytest.Item], count: int, here: Path
) -> Iterator[pytest.Item]:
    """``items`` in the order in which ``count`` workers get them: the first so many,
    the next, and so on. ``here``: where the folders are."""
    firsts = _dealt(items, count, here)
    taken = {one for first in firsts for one in first}
    others = [one for one in items if one not in taken]
    for size, first in zip(_sizes(len(items), count), firsts, strict=True):
        more = max(0, size - len(first))
        yield from first
        yield from others[:more]
        del others[:more]
    yield from others


def _sizes(total: int, count: int) -> Iterator[int]:
    """How many tests each worker gets to begin with."""
    for left in range(count, 0, -1):
        yield total // left
        total -= total // left


def _dealt(
    items: Sequence[pytest.Item], count: int, here: Path
) -> list[list[pytest.Item]]:
    """The tests of long folders by worker."""
    found: dict[str, list[pytest.Item]] = {name: [] for one in LONG for name in one}
    for item in items:
        if item.path.is_relative_to(here):
            folder = item.path.relative_to(here).parts[0]
            if folder in found:
                found[folder].append(item)
    firsts: list[list[pytest.Item]] = [[] for _ in range(count)]
    for place, names in enumerate(LONG):
        for name in names:
            firsts[place % count] += found[name]
    return firsts
