"""Options as rows of a table: the type and the default of each come from the value that
receives it, so that a file and the library cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields
from oslo_config import cfg, types

T = TypeVar("T", bound=Struct)


class _Finite(types.Float):
    """Refuses nan, which compares as within every limit, and inf."""

    def __call__(self, value: Any) -> Any:
        number = super().__call__(value)
        if number is not None and not math.isfinite(number):
            raise ValueError(f"it must be a finite number, not {number}")
        return number


def _float(name: str, **given: Any) -> cfg.Opt:
    limits = {one: given.pop(one) for one in ("min", "max") if one in given}
    return cfg.Opt(name, type=_Finite(**limits), **given)


_KINDS: Final[Mapping[type, Callable[..., cfg.Opt]]] = {
    bool: cfg.BoolOpt,
    int: cfg.IntOpt,
    float: _float,
    str: cfg.StrOpt,
    tuple: cfg.ListOpt,
    dict: cfg.DictOpt,
}


def rows(owner: Struct, table: Mapping[str, str]) -> Iterator[cfg.Opt]:
    """An option for each row ``"NAME [LEAST..[MOST]|secret]": help``; the default is
    that of the field NAME of ``owner``, and its choices are those of the field's type,
    as ``T | None`` is that of an option which may be unset."""
    types_of = {one.name: one.type for one in fields(owner)}
    for row, text in table.items():
        name, _, more = row.partition(" ")
        default, values = getattr(owner, name), get_args(types_of[name])
        kind = values[0] if default is None else type(default)
        given: dict[str, Any] = {"secret": True} if more == "secret" else {}
        if not given:
            given.update(_limits(more, kind))
        if get_origin(types_of[name]) is Literal:
            given["choices"] = values
        usual = list(default) if isinstance(default, tuple) else default
        yield _KINDS[kind](name, default=usual, help=text, **given)


def _limits(bounds: str, kind: type) -> Iterator[tuple[str, float]]:
    for name, text in zip(("min", "max"), bounds.split(".."), strict=False):
        if text:
            yield name, kind(text)


def values_of(group: Any, kind: type[T], **others: Any) -> T:
    """A ``kind`` of ``others`` and the options of ``group`` that its fields name, lists
    as tuples."""
    named = {name: group[name] for name in kind.__struct_fields__ if name in group}
    found = {
        name: tuple(one) if isinstance(one, list) else one
        for name, one in named.items()
    }
    return kind(**found | others)
