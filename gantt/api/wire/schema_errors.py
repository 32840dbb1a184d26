"""Judges requests that were not well-formed at first sight.

``jsonschema`` is authoritative for the verdict and its wording, and a thousand times
slower than the typed decoders. So it is imported when the first doubtful request comes,
and each validator is built once. It quotes what it refuses, once or twice per fault, so
that a name of 30 MB became a gigabyte of messages. Long parts are therefore wrapped in
types with a short ``repr``; the wording of messages stays the same.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, cast

from gantt.api.wire.problem import Problem
from gantt.api.wire.schemas import Schema
from gantt.errors import shortened
from gantt.model.names import canonical_uuid

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

SchemaOf = Callable[[int], Schema]

_MAX_FAULTS = 1000
_SURROGATE = re.compile(rb"\\u[dD]")


def judge_body(raw: bytes, schema_of: SchemaOf, version: int) -> Any:
    """``raw`` decoded, if the schema allows it. Raises Problem 400."""
    try:
        data = _decode(raw)
        fault = _fault(_body_validator(schema_of, version), abridged(data))
    except RecursionError:
        raise Problem(400, "Malformed JSON: nested too deeply") from None
    if fault is not None:
        raise Problem(400, f"JSON does not validate: {fault}")
    return data


def judge_value(value: object, schema_of: SchemaOf, version: int) -> None:
    """Judges a value from elsewhere than a body as ``judge_body`` does."""
    fault = _fault(_body_validator(schema_of, version), value)
    if fault is not None:
        raise Problem(400, f"JSON does not validate: {fault}")


def judge_query(params: Mapping[str, str], schema_of: SchemaOf, version: int) -> None:
    """Raises Problem 400 unless the schema allows ``params``."""
    fault = _fault(_query_validator(schema_of, version), dict(params))
    if fault is not None:
        raise Problem(400, f"Invalid query string parameters: {fault}")


def _decode(raw: bytes) -> Any:
    try:
        text = raw.decode("utf-8")
        data = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        # Half of a surrogate pair, escaped, is JSON but not text: neither databases nor
        # answers could contain it.
        if _SURROGATE.search(raw):
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise Problem(400, f"Malformed JSON: {error}") from None
    return data


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits} is out of range")
    return value


def _fault(validator: Validator, data: Any) -> str | None:
    from jsonschema.exceptions import best_match

    # Among a million errors, the best of the first thousand is good enough.
    error = best_match(islice(validator.iter_errors(data), _MAX_FAULTS))
    return None if error is None else str(error)


@functools.cache
def _body_validator(schema_of: SchemaOf, version: int) -> Validator:
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import extend

    checker = FormatChecker(formats=())
    checker.checks("uuid")(_is_uuid_body)
    kind: type[Validator] = cast(Any, extend)(
        Draft202012Validator, {"uniqueItems": _unique_items}
    )
    return kind(schema_of(version), format_checker=checker)


@functools.cache
def _query_validator(schema_of: SchemaOf, version: int) -> Validator:
    from jsonschema import Draft202012Validator, FormatChecker

    checker = FormatChecker(formats=("uuid",))
    return Draft202012Validator(schema_of(version), format_checker=checker)


def _unique_items(
    _validator: Validator, is_wanted: bool, instance: Any, _schema: Schema
) -> Iterator[ValidationError]:
    """Finds items that repeat, in linear time: the library's own rule compares each
    item with all others if their types differ."""
    from jsonschema.exceptions import ValidationError

    if not is_wanted or not isinstance(instance, list):
        return
    if len({_identity(item) for item in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _identity(value: Any) -> Hashable:
    """Equal for equal JSON alone: 1 is 1.0, and neither is true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    if isinstance(value, dict):
        return dict, frozenset((key, _identity(item)) for key, item in value.items())
    return str(value) if isinstance(value, str) else (float, value)


def _is_uuid_body(value: object) -> bool:
    return not isinstance(value, str) or canonical_uuid(value) is not None


# Parts whose repr would be longer than so many characters are abridged.
LONGEST = 4_000
_ITEMS = 8


class LongText(str):
    """A string whose repr shows its two ends."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(shortened(str(self), LONGEST))


class LongList(list[Any]):
    """A list whose repr shows its first items."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in islice(self, _ITEMS))
        return f"[{shortened(shown, LONGEST)}{_rest(len(self))}]"


class LongObject(dict[str, Any]):
    """An object whose repr shows its first fields."""

    __slots__ = ()

    def __repr__(self) -> str:
        fields = islice(self.items(), _ITEMS)
        shown = ", ".join(f"{key!r}: {value!r}" for key, value in fields)
        return f"{{{shortened(shown, LONGEST)}{_rest(len(self))}}}"


def abridged(data: Any) -> Any:
    """A value equal to ``data``, which is plain JSON. Raises RecursionError."""
    return _abridged(data)[0]


def _abridged(data: Any) -> tuple[Any, int]:
    """The value, and about how long its repr is in characters."""
    if isinstance(data, str):
        length = len(data)
        return (LongText(data) if length > LONGEST else data), length + 2
    if isinstance(data, list):
        return _abridged_list(data)
    if isinstance(data, dict):
        return _abridged_object(data)
    return data, len(repr(data)) if isinstance(data, int | float) else 5


def _abridged_list(data: list[Any]) -> tuple[Any, int]:
    if len(data) > LONGEST:
        return LongList(map(_short, data)), len(data)
    parts = [_abridged(item) for item in data]
    length = 2 + sum(length + 2 for _, length in parts)
    if length > LONGEST:
        return LongList(item for item, _ in parts), length
    return data, length


def _abridged_object(data: dict[str, Any]) -> tuple[Any, int]:
    if len(data) > LONGEST:
        items = data.items()
        return LongObject((_short(key), _short(item)) for key, item in items), len(data)
    fields = [(_abridged(key), _abridged(item)) for key, item in data.items()]
    length = 2 + sum(key[1] + item[1] + 4 for key, item in fields)
    if length > LONGEST:
        return LongObject((key[0], item[0]) for key, item in fields), length
    return data, length


def _short(item: Any) -> Any:
    """One of many items, ``abridged`` if it is long: most are short and need no
    measuring."""
    if isinstance(item, str):
        return LongText(item) if len(item) > LONGEST else item
    return _abridged(item)[0] if isinstance(item, list | dict) else item


def _rest(count: int) -> str:
    return f", … ({count - _ITEMS} more)" if count > _ITEMS else ""
