"""Conditions on versions of hypervisors: ">=6.0, <7.0".

Separate from the filter because hosts report a version as one number, three digits for
each part but the first, and images use dots.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TypeAlias

Version: TypeAlias = tuple[int, ...]
Conditions: TypeAlias = tuple[tuple[Callable[[Version, Version], bool], Version], ...]

_COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_CONDITION = re.compile(r"\s*(<=|>=|<|>|!=|==)\s*(\d+(?:\.\d+)*)\s*", re.ASCII)
_MOST_TEXT = 255


def read(text: str) -> Conditions | None:
    """The conditions, all of which must hold; None: they are invalid."""
    if len(text) > _MOST_TEXT:
        return None
    found = []
    for one in text.split(","):
        match = _CONDITION.fullmatch(one)
        if match is None:
            return None
        parts = [int(part) for part in match[2].split(".")]
        found.append((_COMPARISONS[match[1]], _trimmed(parts)))
    return tuple(found)


def satisfies(number: int, conditions: Conditions) -> bool:
    """Whether the version that a host reports as ``number`` meets all conditions."""
    version = _parts(number)
    return all(compare(version, wanted) for compare, wanted in conditions)


def _parts(number: int) -> Version:
    """1002003 is 1.2.3."""
    parts: list[int] = []
    while number > 0:
        number, part = divmod(number, 1000)
        parts.insert(0, part)
    return _trimmed(parts)


def _trimmed(parts: list[int]) -> Version:
    """6.2.0 is 6.2."""
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
