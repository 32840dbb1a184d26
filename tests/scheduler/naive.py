"""Operators of extra specs, read as plainly as they are told."""

from __future__ import annotations


def is_match(value: str, requirement: str) -> bool:
    """Whether ``value`` satisfies ``requirement``."""
    words = requirement.split()
    if not words:
        return value == requirement
    first, rest = words[0], words[1:]
    if first == "<or>":
        return value in [word for place, word in enumerate(rest) if place % 2 == 0]
    if first == "<all-in>":
        return rest != [] and [word for word in rest if word not in value] == []
    if first == "<in>":
        return rest != [] and rest[0] in value
    if first in ("=", "==", "!=", ">=", "<="):
        return rest != [] and _compares_numbers(value, first, rest[0])
    if first in ("s==", "s!=", "s<", "s<=", "s>", "s>="):
        return rest != [] and _compares_texts(value, first, rest[0])
    return value == requirement


def _compares_numbers(value: str, sign: str, wanted: str) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    if sign in ("=", ">="):
        return number >= float(wanted)
    if sign == "<=":
        return number <= float(wanted)
    return (number == float(wanted)) == (sign == "==")


def _compares_texts(value: str, sign: str, wanted: str) -> bool:
    if sign in ("s==", "s!="):
        return (value == wanted) == (sign == "s==")
    if value == wanted:
        return sign in ("s<=", "s>=")
    return (value < wanted) == sign.startswith("s<")
