"""Parses values of query parameters: resources, required, member_of, in_tree.

Shared by the listing of providers and by allocation candidates. Every function may
raise Problem 400 in the words of the wire contract.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from gantt.api.wire.problem import Problem
from gantt.model.names import MAX_INT, canonical_uuid
from gantt.model.requests import Labels

_INVALID = "Invalid query string parameters: "
_ANY_FORM = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"


def resources(value: str) -> dict[str, int]:
    """``VCPU:2,MEMORY_MB:1024``; the last amount of a repeated class counts."""
    if not value:
        _refuse_resources("empty string")
    amounts: dict[str, int] = {}
    for piece in value.split(","):
        name, colon, digits = piece.partition(":")
        if not colon or ":" in digits:
            _refuse_resources(piece)
        amounts[name] = _amount(name, digits)
    return amounts


def _refuse_resources(got: str) -> NoReturn:
    raise Problem(
        400,
        "Badly formed resources parameter. Expected resources query string parameter "
        f"in form: ?resources=VCPU:2,MEMORY_MB:1024. Got: {got}.",
    )


def _amount(name: str, digits: str) -> int:
    try:
        amount = int(digits)
    except ValueError:
        raise Problem(
            400,
            f"Requested resource {name} expected positive integer amount. "
            f"Got: {digits}.",
        ) from None
    if amount < 1:
        raise Problem(
            400, f"Requested resource {name} requires amount >= 1. Got: {amount}."
        )
    # No inventory has more than MAX_INT units, so a greater amount fits nowhere.
    return min(amount, MAX_INT + 1)


def required(values: Iterable[str], version: int, *, any_of: bool = True) -> Labels:
    """``A,!B`` and, with ``any_of``, ``in:A,B``; all values must hold."""
    alternatives: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in values:
        if value.startswith("in:"):
            if version < 39 or not any_of:
                raise Problem(
                    400,
                    f"{_INVALID}The format '{_ANY_FORM}' only supported since "
                    f"microversion 1.39. Got: {value}",
                )
            alternatives.append(_any_of(value))
        else:
            for name in _all_of(value, version):
                if name.startswith("!"):
                    forbidden.add(name.lstrip("!"))
                else:
                    alternatives.append(frozenset((name,)))
    return Labels(tuple(alternatives), frozenset(forbidden))


def _any_of(value: str) -> frozenset[str]:
    names = [name.strip() for name in value.removeprefix("in:").split(",")]
    if not all(names):
        _refuse_required(_ANY_FORM, f"an empty trait in: {value}")
    if any(name.startswith("!") for name in names):
        raise Problem(
            400,
            f"{_INVALID}The format '{_ANY_FORM}' does not support forbidden traits. "
            f"Got: {value}",
        )
    return frozenset(names)


def _all_of(value: str, version: int) -> list[str]:
    names = [name.strip() for name in value.split(",")]
    mark = "!" if version >= 22 else ""
    form = f"HW_CPU_X86_VMX,{mark}CUSTOM_MAGIC"
    if not all(name.lstrip("!") for name in names):
        _refuse_required(form, f"an empty trait in: {value}")
    if not mark and any(name.startswith("!") for name in names):
        _refuse_required(form, f": {value}")
    return names


def _refuse_required(form: str, got: str) -> NoReturn:
    got = f"Got{got}" if got.startswith(":") else f"Got {got}"
    raise Problem(
        400, f"{_INVALID}Expected 'required' parameter value of the form: {form}. {got}"
    )


def member_of(key: str, values: list[str], version: int) -> Labels:
    """``U``, ``in:U,V``, ``!U``, ``!in:U,V``; all values must hold."""
    if len(values) > 1 and version < 24:
        raise Problem(400, f"Multiple {key} parameters are not supported")
    alternatives: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in values:
        names, is_forbidden = _aggregates(value)
        if not is_forbidden:
            alternatives.append(names)
        elif version < 32:
            raise Problem(
                400,
                f"Forbidden {key} parameters are not supported in the specified "
                "microversion",
            )
        else:
            forbidden |= names
    return Labels(tuple(alternatives), frozenset(forbidden))


def _aggregates(value: str) -> tuple[frozenset[str], bool]:
    is_forbidden = value.startswith("!")
    listed = value[1:] if is_forbidden else value
    if listed.startswith("in:"):
        names = listed.removeprefix("in:").split(",")
    elif "," in listed:
        raise Problem(
            400,
            "Multiple values for 'member_of' must be prefixed with the 'in:' or "
            f"'!in:' keyword using the valid microversion. Got: {value}",
        )
    else:
        names = [listed]
    for name in names:
        if canonical_uuid(name) is None:
            raise Problem(
                400,
                f"{_INVALID}Expected 'member_of' parameter to contain valid UUID(s). "
                f"Got: {name}",
            )
    return frozenset(names), is_forbidden


def in_tree(value: str) -> str:
    """The uuid of any member of the requested tree."""
    uuid = value.strip()
    if canonical_uuid(uuid) is None:
        raise Problem(
            400,
            f"{_INVALID}Expected 'in_tree' parameter to be a format of uuid. "
            f"Got: {uuid}",
        )
    return uuid
