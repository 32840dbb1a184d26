"""Converts data that a schema has allowed to the types of bodies.

Only what the schema does not cover is checked. Whole numbers become int, except where
an answer echoes them. Only requests that were not well-formed at first sight come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from gantt.api.wire import body_types as wire
from gantt.api.wire.schemas import CLASS_PATTERN, given
from gantt.errors import UnknownResourceClass
from gantt.model.names import MAX_INT

Build = Callable[[Any], Any]


def as_is(data: Any) -> Any:
    """For what has nothing to convert in it."""
    return data


def _amount(data: Any) -> int:
    # No inventory has more than MAX_INT units, so a greater amount fits nowhere.
    return min(int(data), MAX_INT + 1)


_NUMBERS: Final[tuple[tuple[Any, Build], ...]] = (
    (wire.Integer, int),
    (wire.Amount, _amount),
    (wire.Ratio, as_is),
)


def builder(kind: Any) -> Build:
    """What makes a ``kind`` of its data. That raises UnknownName."""
    for number, build in _NUMBERS:
        if kind == number:
            return build
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return builder(args[0])
    if origin is list:
        return _items(builder(args[0]))
    if origin is dict:
        return _members(builder(args[1]), is_of_classes=args[0] == wire.ClassName)
    if origin is not None:
        return _optional(builder(given(args)[0]))
    return _fields(kind) if issubclass(kind, wire.PlacementBody) else as_is


def _items(build: Build) -> Build:
    return as_is if build is as_is else lambda data: [build(one) for one in data]


def _optional(build: Build) -> Build:
    return lambda data: None if data is None else build(data)


def _members(build: Build, *, is_of_classes: bool) -> Build:
    def built(data: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in data.items():
            # Schemas may not cover keys that are no class names, and their values.
            if is_of_classes and re.search(CLASS_PATTERN, name) is None:
                raise UnknownResourceClass(f"No such resource class {name}.")
            found[name] = build(value)
        return found

    return as_is if build is as_is else built


def _fields(kind: type[wire.PlacementBody]) -> Build:
    hints = get_type_hints(kind, include_extras=True)
    builds = {name: builder(hints[name]) for name in kind.__struct_fields__}
    return lambda data: kind(**{name: builds[name](one) for name, one in data.items()})
