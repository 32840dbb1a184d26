"""The flavors that are usually asked for, as an operator tells them.

``40xvcpus=4,memory_mb=16384`` is one: so many of each hundred, or thousand, requests
ask for it. ``CUSTOM_GPU_MILLI=1000*8`` is eight pieces of 1,000, which may come from
eight providers; each piece comes from one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gantt.errors import Refused

VCPU: Final = "VCPU"
MEMORY_MB: Final = "MEMORY_MB"
DISK_GB: Final = "DISK_GB"
OF_HOSTS: Final = (VCPU, MEMORY_MB, DISK_GB)
"""Classes of which hosts report what they have left."""
MOST: Final = 256
_CLASSES: Final = {"vcpus": VCPU, "memory_mb": MEMORY_MB, "disk_gb": DISK_GB}
_ONE: Final = re.compile(r"\s*(?:([0-9]{1,9})x)?(.*?)\s*\Z", re.ASCII | re.DOTALL)
_PART: Final = re.compile(
    r"([a-z_]{1,16}|[A-Z][A-Z0-9_]{0,254})=([0-9]{1,12})(?:\*([0-9]{1,4}))?\Z",
    re.ASCII,
)
OPTION: Final = "usual_flavors of [gantt]"


class UsualFlavor(Struct, frozen=True):
    """``share``: of all requests, 0 … 1. ``amounts``: class -> (amount, pieces).
    ``worth``: grows with the square of what it asks for, so that room for a large
    flavor, which few hosts have, counts more than as much room for small ones; the mean
    over all requests is 1.0."""

    share: float
    amounts: dict[str, tuple[int, int]]
    worth: float


@lru_cache(maxsize=8)
def usual_flavors(texts: tuple[str, ...]) -> tuple[UsualFlavor, ...]:
    """All of them; none where the option is empty. Raises Refused."""
    if len(texts) > MOST:
        raise Refused(f"{OPTION} names {len(texts)} flavors; {MOST} is the limit.")
    read = [_read(text) for text in texts]
    total = sum(count for count, _ in read)
    means = _means(read, total)
    squares = [_size(amounts, means) ** 2 for _, amounts in read]
    weighed = sum(
        count * square for (count, _), square in zip(read, squares, strict=True)
    )
    return tuple(
        UsualFlavor(count / total, amounts, square * total / weighed)
        for (count, amounts), square in zip(read, squares, strict=True)
    )


_Read = tuple[int, dict[str, tuple[int, int]]]


def _read(text: str) -> _Read:
    whole = _ONE.match(text)
    assert whole is not None, "it matches anything"
    amounts: dict[str, tuple[int, int]] = {}
    for word in whole[2].split(","):
        part = _PART.match(word.strip())
        name = None if part is None else _CLASSES.get(part[1], part[1])
        if part is None or name is None or name.islower():
            raise Refused(
                f"{OPTION} has {text!r}, of which {word!r} is not understood: write "
                "COUNTxvcpus=4,memory_mb=16384,disk_gb=40, and other resource classes "
                "as CUSTOM_GPU=1, or CUSTOM_GPU=1*8 for eight of one each."
            )
        amount, count = int(part[2]), int(part[3] or 1)
        if amount and count:
            amounts[name] = amount, count
    count = int(whole[1] or 1)
    if not amounts or not count:
        raise Refused(f"{OPTION} has {text!r}, which asks for nothing.")
    return count, amounts


def _means(read: Sequence[_Read], total: int) -> dict[str, float]:
    """Class -> what the mean flavor asks for."""
    found: dict[str, float] = {}
    for share, amounts in read:
        for name, (amount, count) in amounts.items():
            found[name] = found.get(name, 0.0) + share * amount * count / total
    return found


def _size(amounts: dict[str, tuple[int, int]], means: dict[str, float]) -> float:
    """What it asks for; 1.0 is what the mean flavor does."""
    parts = [
        amounts[name][0] * amounts[name][1] / mean
        for name, mean in means.items()
        if name in amounts
    ]
    return sum(parts) / len(means)
