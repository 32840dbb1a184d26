"""Signatures of values in the reference of the library: their fields, as written."""

from __future__ import annotations

import inspect
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields


def of_struct(kind: type[Struct]) -> str:
    """The fields with types and defaults; a default that is a value itself by name."""
    annotations = _annotations(kind)
    parts = []
    for one in fields(kind):
        default = one.default
        if default is NODEFAULT and one.default_factory is not NODEFAULT:
            default = one.default_factory()
        known = f"{one.name}: {annotations[one.name]}"
        parts.append(known if default is NODEFAULT else f"{known} = {_shown(default)}")
    return f"({', '.join(parts)})"


def _annotations(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        found.update(inspect.get_annotations(one))
    return found


def _shown(default: Any) -> str:
    if isinstance(default, Struct):
        return f"{type(default).__name__}()"
    return repr(default)


def process(
    _app: Any, what: str, _name: str, kind: Any, _options: Any, *_given: str | None
) -> tuple[str | None, str | None] | None:
    """What autodoc asks for each signature."""
    if what != "class" or not isinstance(kind, type):
        return None
    if issubclass(kind, Struct):
        return of_struct(kind), None
    return ("", None) if getattr(kind, "_is_protocol", False) else None
