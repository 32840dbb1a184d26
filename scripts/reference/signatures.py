"""Signatures in the reference of the library, as they are written in the source."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

_WIDE: Final = 88


class _Written(str):
    """An annotation without the quotes that ``inspect`` adds to text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def lines_of_struct(kind: type[Struct]) -> str:
    """The name of the value, and a line for each field."""
    return "\n".join((f"class {kind.__name__}:", *_fields(kind))) + "\n"


def _fields(kind: type[Struct]) -> Iterator[str]:
    """With types and defaults; a default that is a value itself by name."""
    annotations = _annotations(kind)
    for one in fields(kind):
        default = one.default
        if default is NODEFAULT and one.default_factory is not NODEFAULT:
            default = one.default_factory()
        known = f"    {one.name}: {annotations[one.name]}".replace("'", '"')
        yield known if default is NODEFAULT else f"{known} = {_shown(default)}"


def lines_of_call(name: str, function: Callable[..., Any]) -> str:
    """How it is called; one parameter on each line where it is long."""
    found = inspect.signature(function)
    given = [
        one.replace(annotation=_written(one.annotation))
        for one in found.parameters.values()
        if one.name != "self"
    ]
    called = found.replace(
        parameters=given, return_annotation=_written(found.return_annotation)
    )
    text = f"{name}{called}"
    if len(text) <= _WIDE:
        return text
    answer = str(called.replace(parameters=())).removeprefix("()")
    return "\n".join((f"{name}(", *_each(given), f"){answer}"))


def _each(given: list[inspect.Parameter]) -> Iterator[str]:
    """A line for each parameter, and for the star that stands before named ones."""
    is_named = False
    for one in given:
        if one.kind is one.KEYWORD_ONLY and not is_named:
            is_named = True
            yield "    *,"
        is_named = is_named or one.kind is one.VAR_POSITIONAL
        yield f"    {one},"


def _written(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def _annotations(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        found.update(inspect.get_annotations(one))
    return found


def _shown(default: Any) -> str:
    """A default, by its name where it is a value or long; sets in one order, and text
    as ruff would write it."""
    if isinstance(default, str):
        return json.dumps(default, ensure_ascii=False)
    if isinstance(default, frozenset) and default:
        return f"frozenset({{{', '.join(map(repr, sorted(default)))}}})"
    text = repr(default)
    is_named = isinstance(default, Struct) or len(text) > _WIDE
    return f"{type(default).__name__}()" if is_named else text
