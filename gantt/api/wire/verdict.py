"""The judge of what was not well-formed at first sight.

``jsonschema`` is authoritative for the verdict and its wording, and slow: a thousand
times slower than the typed decoders. So it is imported when the first doubtful
request comes, and each of its validators is built once.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, cast

from gantt.api.wire.abridged import abridged
from gantt.api.wire.problem import Problem
from gantt.api.wire.schemas import Schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

SchemaOf = Callable[[int], Schema]

_MAX_FAULTS = 1000
_SURROGATE = re.compile(rb"\\u[dD]")
_COMPACT_UUID = re.compile(r"[0-9a-f]{32}")


def is_uuid_like(text: str) -> bool:
    """Whether OpenStack takes ``text`` for a uuid: dashes, case, braces and the
    prefixes ``urn:`` and ``uuid:`` do not matter."""
    bare = text.replace("urn:", "").replace("uuid:", "").strip("{}")
    return _COMPACT_UUID.fullmatch(bare.replace("-", "").lower()) is not None


def judge_body(raw: bytes, schema_of: SchemaOf, version: int) -> Any:
    """What ``raw`` says, if the schema allows it. Raises Problem 400."""
    try:
        data = _decode(raw)
        fault = _fault(_body_validator(schema_of, version), abridged(data))
    except RecursionError:
        raise Problem(400, "Malformed JSON: nested too deeply") from None
    if fault is not None:
        raise Problem(400, f"JSON does not validate: {fault}")
    return data


def judge_value(value: object, schema_of: SchemaOf, version: int) -> None:
    """As ``judge_body``, for a value that came by another way than a body."""
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
        # An escaped half of a surrogate pair is JSON but no text: no database and
        # no answer could hold it.
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

    # Of a million errors the best is as good as that of the first thousand.
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
    """As the library has it, in linear time: its own compares each item with all others
    once they are of several types."""
    from jsonschema.exceptions import ValidationError

    if not is_wanted or not isinstance(instance, list):
        return
    if len({_identity(item) for item in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _identity(value: Any) -> Hashable:
    """The same for equal JSON, and for no other: 1 is 1.0, and neither is true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    if isinstance(value, dict):
        return dict, frozenset((key, _identity(item)) for key, item in value.items())
    return str(value) if isinstance(value, str) else (float, value)


def _is_uuid_body(value: object) -> bool:
    return not isinstance(value, str) or is_uuid_like(value)
