"""Checks of single values from outside: those that pass are safe for all layers below.

Separate from the readers of whole objects so that limits and wording of refusals are in
one place. Each function takes ``path``, the name of the field for messages, and raises
Invalid with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from gantt.errors import Invalid
from gantt.model.bounds import MAX_LEASE_S, MAX_NAME, MAX_REAL, MAX_TEXT, MAX_WHOLE
from gantt.model.names import canonical_uuid, is_canonical
from gantt.model.printable import counted

INT64: Final = (-(2**63), 2**63 - 1)
MAX_DEPTH: Final = 32
_SHOWN = 60


def refusal(path: str, wanted: str, value: Any) -> Invalid:
    """``path`` is not what is ``wanted``."""
    return Invalid(f"{path} must be {wanted}, not {shown(value)}.")


def shown(value: Any) -> str:
    """A value as short text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
    if isinstance(value, int):
        bits = value.bit_length()
        return str(value) if bits <= 128 else f"an integer of {bits} bits"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"an object with {counted(len(value), 'field')}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def text(path: str, value: Any, longest: int = MAX_TEXT) -> str:
    """A string of at most ``longest`` characters that UTF-8 and every database can
    carry: PostgreSQL has no NUL."""
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        raise refusal(path, "text", value)
    if "\0" in value:
        raise Invalid(f"{path} contains a NUL at {value.index(chr(0))}; leave it out.")
    if len(value) <= longest and value.isascii():
        return value
    if len(value) > longest:
        raise Invalid(f"{path} has {len(value)} characters; the limit is {longest}.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{path} contains a lone surrogate: {value!a:.80}.") from None
    return value


def name(path: str, value: Any) -> str:
    """A name: neither empty nor too long."""
    if not text(path, value, MAX_NAME):
        raise Invalid(f"{path} is empty; it must be a name.")
    return str(value)


def short(path: str, value: Any) -> str:
    """Text as long as a name, or empty."""
    return text(path, value, MAX_NAME)


def cut(value: Any, longest: int = MAX_NAME) -> str:
    """``value`` as text that can be kept: what cannot is taken out of it."""
    found = str(value).replace("\0", "").encode(errors="replace").decode()
    return found[:longest]


def uuid(path: str, value: Any) -> str:
    """A UUID, in one form however it was written: other spellings name the same."""
    found = text(path, value, MAX_NAME)
    uuid = found if is_canonical(found) else canonical_uuid(found)
    if uuid is None:
        raise refusal(path, "a UUID", found)
    return uuid


def word(path: str, value: Any) -> str:
    """Text, or a scalar that is read as text, as Nova does for values of hints, extra
    specs and metadata."""
    if isinstance(value, int) and not isinstance(value, bool):
        # The interpreter refuses to write integers of very many digits.
        return str(whole(path, value, *INT64))
    return str(value) if isinstance(value, bool | float) else text(path, value)


def whole(
    path: str, value: Any, low: int = -MAX_WHOLE - 1, high: int = MAX_WHOLE
) -> int:
    """An integer within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal(path, "an integer", value)
    if not low <= value <= high:
        raise refusal(path, f"an integer from {low} to {high}", value)
    return value


def amount(path: str, value: Any) -> int:
    """An integer that is not negative."""
    return whole(path, value, 0)


def real(path: str, value: Any) -> float:
    """A finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal(path, "a number", value)
    # Compared before it is converted: an integer may be too large for a float.
    if not 0 <= value <= MAX_REAL:
        raise refusal(path, "a number that is not negative and not too large", value)
    return float(value)


def seconds(path: str, value: Any) -> float:
    """The duration of a lease: positive, and at most a day."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal(path, "a number", value)
    if not 0 < value <= MAX_LEASE_S:
        wanted = f"a number of seconds above 0 and at most {MAX_LEASE_S:g}"
        raise refusal(path, wanted, value)
    return float(value)


def flag(path: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refusal(path, "true or false", value)
    return value


def items(path: str, value: Any) -> tuple[Any, ...]:
    """A list of anything."""
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(value, key=str))
    raise refusal(path, "a list", value)


def names(path: str, value: Any) -> tuple[str, ...]:
    """A list of names."""
    return tuple(name(path, each) for each in items(path, value))


def uuids(path: str, value: Any) -> tuple[str, ...]:
    """A list of UUIDs."""
    return tuple(uuid(path, each) for each in items(path, value))


def mapping(path: str, value: Any) -> Mapping[str, Any]:
    """An object with text as keys."""
    if not isinstance(value, dict | Mapping):
        raise refusal(path, "an object", value)
    for key in value:
        if not (isinstance(key, str) and key.isascii() and len(key) <= MAX_TEXT):
            text(f"{path}, a key", key)
    return value


def plain(path: str, value: Any) -> Any:
    """A copy of ``value`` that JSON can carry: bounded in depth, keys as text."""
    try:
        return _copy(value, 0)
    except _OddError:
        # Rare, so that paths are only built here.
        return _spelled_out(path, value, 0)


class _OddError(Exception):
    """A value that is not plain JSON."""


def _copy(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        if len(value) <= MAX_TEXT and value.isascii():
            return value
    elif kind is dict:
        if depth <= MAX_DEPTH and all(
            type(key) is str and key.isascii() for key in value
        ):
            return {key: _copy(each, depth + 1) for key, each in value.items()}
    elif kind is list:
        if depth <= MAX_DEPTH:
            return [_copy(each, depth + 1) for each in value]
    elif kind is int:
        if -MAX_WHOLE <= value <= MAX_WHOLE:
            return value
    elif kind is float:
        if math.isfinite(value):
            return value
    elif value is None or kind is bool:
        return value
    raise _OddError


def _spelled_out(path: str, value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Invalid(f"{path} is nested deeper than {MAX_DEPTH} levels.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return whole(path, value, *INT64)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refusal(path, "a finite number", value)
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {
            # Nova's own mappings have integer keys until they are serialized.
            word(f"{path}, a key", key): _spelled_out(f"{path}.{key}", each, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_spelled_out(path, each, depth + 1) for each in items(path, value)]
    return text(path, value)


def decoded(path: str, value: Any) -> Any:
    """What a JSON column holds, as JSON text or decoded; empty text is null."""
    if isinstance(value, bytes | bytearray):
        value = value.decode(errors="replace")
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return msgspec.json.decode(value.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise Invalid(
            f"{path} must be JSON text, not {shown(value)}: {error}."
        ) from None


def moment(path: str, value: Any) -> int:
    """Microseconds since the epoch, from such an integer or an ISO 8601 time (UTC
    where it names no zone)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return whole(path, value, 0, INT64[1])
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(text(path, value, MAX_NAME))
        except ValueError:
            raise refusal(path, "a time such as 2026-01-31T12:00:00Z", value) from None
    if not isinstance(value, datetime):
        raise refusal(path, "a time such as 2026-01-31T12:00:00Z", value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        since = value - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        raise refusal(path, "a time since 1970", str(value)) from None
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return whole(path, micros, 0, INT64[1])
