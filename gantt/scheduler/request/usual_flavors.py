"""The flavors that are usually asked for, as an operator tells them.

``40xvcpus=4,memory_mb=16384`` is one: so many of each hundred, or thousand, requests
ask for it. ``CUSTOM_GPU_MILLI=1000*8`` is eight pieces of 1,000, which may come from
eight providers; each piece comes from one. ``name=large`` among these gives it a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gantt.errors import Refused
from gantt.model.spec import Flavor

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
_NAME: Final = re.compile(r"name=([^,=]{1,255})\Z")
OPTION: Final = "usual_flavors of [gantt]"
_IS_NAME: Final = "name"


class UsualFlavor(Struct, frozen=True):
    """``share``: of all requests, 0 … 1. ``amounts``: class -> (amount, pieces).
    ``worth``: grows with the square of what it asks for, so that room for a large
    flavor, which few hosts have, counts more than as much room for small ones; the mean
    over all requests is 1.0. ``name``: "" where it has none."""

    share: float
    amounts: dict[str, tuple[int, int]]
    worth: float
    name: str = ""


@lru_cache(maxsize=8)
def usual_flavors(texts: tuple[str, ...]) -> tuple[UsualFlavor, ...]:
    """All of them; none where the option is empty. Raises Refused."""
    if len(texts) > MOST:
        raise Refused(f"{OPTION} names {len(texts)} flavors; {MOST} is the limit.")
    read = [_read(text) for text in texts]
    _check_names(name for _, _, name in read)
    total = sum(count for count, _, _ in read)
    means = _means(read, total)
    squares = [_size(amounts, means) ** 2 for _, amounts, _ in read]
    weighed = sum(
        count * square for (count, _, _), square in zip(read, squares, strict=True)
    )
    return tuple(
        UsualFlavor(count / total, amounts, square * total / weighed, name)
        for (count, amounts, name), square in zip(read, squares, strict=True)
    )


def named_flavors(texts: tuple[str, ...]) -> tuple[Flavor, ...]:
    """Those that have a name, as a request has them. Raises Refused."""
    return tuple(
        _flavor(one.name, one.amounts) for one in usual_flavors(texts) if one.name
    )


def _flavor(name: str, amounts: Mapping[str, tuple[int, int]]) -> Flavor:
    """Pieces of other classes are groups of their own, which may share a provider."""
    of_host = [amounts.get(one, (0, 0)) for one in OF_HOSTS]
    vcpus, memory_mb, root_gb = (amount * count for amount, count in of_host)
    pieces = [
        (one, amount)
        for one, (amount, count) in amounts.items()
        if one not in OF_HOSTS
        for _ in range(count)
    ]
    extra = {
        f"resources{n}:{one}": str(most) for n, (one, most) in enumerate(pieces, 1)
    }
    if len(pieces) > 1:
        extra["group_policy"] = "none"
    return Flavor(vcpus, memory_mb, root_gb, name=name, extra_specs=extra)


def _check_names(names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(filter(None, names)).items() if count > 1]
    if twice:
        raise Refused(
            f"{OPTION} has more than one flavor of the name {twice[0]!r}: give each "
            "its own."
        )


_Read = tuple[int, dict[str, tuple[int, int]], str]


def _read(text: str) -> _Read:
    """Raises Refused, also for what is said twice: one of the two would be lost."""
    whole = _ONE.match(text)
    assert whole is not None, "it matches anything"
    amounts: dict[str, tuple[int, int]] = {}
    named = ""
    known = set[str]()
    for word in map(str.strip, whole[2].split(",")):
        name, amount, pieces = _word(text, word)
        what = _IS_NAME if amount is None else name
        if what in known:
            raise Refused(
                f"{OPTION} has {text!r}, which gives {what} twice: leave one out."
            )
        known.add(what)
        if amount is None:
            named = name
        elif amount and pieces:
            amounts[name] = amount, pieces
    count = int(whole[1] or 1)
    if not amounts or not count:
        raise Refused(f"{OPTION} has {text!r}, which asks for nothing.")
    return count, amounts, named


def _word(text: str, word: str) -> tuple[str, int | None, int]:
    """(class, amount, pieces), or (name, None, 0). Raises Refused."""
    if found := _NAME.match(word):
        return found[1].strip(), None, 0
    part = _PART.match(word)
    name = None if part is None else _CLASSES.get(part[1], part[1])
    if part is None or name is None or name.islower():
        raise Refused(
            f"{OPTION} has {text!r}, of which {word!r} is not understood: write "
            "COUNTxname=NAME,vcpus=4,memory_mb=16384,disk_gb=40, and other resource "
            "classes as CUSTOM_GPU=1, or CUSTOM_GPU=1*8 for eight of one each."
        )
    return name, int(part[2]), int(part[3] or 1)


def _means(read: Sequence[_Read], total: int) -> dict[str, float]:
    """Class -> what the mean flavor asks for."""
    found: dict[str, float] = {}
    for share, amounts, _ in read:
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
