"""Operators in values of extra specs: ``<in> avx``, ``>= 4``, ``<or> a <or> b``.

Separate because capabilities of hosts and metadata of aggregates are compared by the
same rules. Note that ``=`` means "at least", as it always did in Nova.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from gantt import errors

Matcher = Callable[[str], bool]
"""Whether a host's value, as text, satisfies a requirement."""

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
    "<in>": operator.contains,
}


def matcher(key: str, requirement: str) -> Matcher:
    """The requirement of the extra spec ``key``. Raises Invalid: a number was
    expected."""
    words = requirement.split()
    first, operands = (words[0], words[1:]) if words else ("", [])
    if first == "<or>":
        # Every second word: the others are the operator again.
        choices = frozenset(operands[::2])
        return lambda value: value in choices
    if first == "<all-in>":
        return lambda value: bool(operands) and all(one in value for one in operands)
    if first in _NUMERIC:
        return _numeric(key, requirement, _NUMERIC[first], operands)
    if first in _TEXTUAL:
        compare = _TEXTUAL[first]
        return lambda value: bool(operands) and compare(value, operands[0])
    return lambda value: value == requirement


def _numeric(
    key: str,
    requirement: str,
    compare: Callable[[float, float], bool],
    operands: list[str],
) -> Matcher:
    if not operands:
        return lambda _: False
    wanted = _number(operands[0])
    if wanted is None:
        raise errors.Invalid(
            f"The extra spec {key} asks for {requirement!r}, but {operands[0]!r} is not"
            " a number: give one, or compare text with s==, s!=, s<, s<=, s> or s>=."
        )

    def holds(value: str) -> bool:
        have = _number(value)
        return have is not None and compare(have, wanted)

    return holds


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
