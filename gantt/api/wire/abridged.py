"""JSON whose long parts show themselves short, and are otherwise what they were.

``jsonschema`` writes what it refuses into its messages, once or twice for each fault: a
name of 30 MB became a gigabyte of messages before any of them could be cut. Parts of
usual size stay as they are, and so does the wording of what is said about them.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from gantt.errors import shortened

# Characters that a part takes to be written; longer ones are abridged.
LONGEST = 4_000
_ITEMS = 8


class LongText(str):
    """A string that shows its two ends."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(shortened(str(self), LONGEST))


class LongList(list[Any]):
    """A list that shows its first items."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in islice(self, _ITEMS))
        return f"[{shortened(shown, LONGEST)}{_rest(len(self))}]"


class LongObject(dict[str, Any]):
    """An object that shows its first fields."""

    __slots__ = ()

    def __repr__(self) -> str:
        fields = islice(self.items(), _ITEMS)
        shown = ", ".join(f"{key!r}: {value!r}" for key, value in fields)
        return f"{{{shortened(shown, LONGEST)}{_rest(len(self))}}}"


def abridged(data: Any) -> Any:
    """``data`` of plain JSON, equal to what it was. Raises RecursionError."""
    return _abridged(data)[0]


def _abridged(data: Any) -> tuple[Any, int]:
    """The value, and about how many characters it takes to be written."""
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
    """As ``abridged``, for one of many: most are short, and are not measured."""
    if isinstance(item, str):
        return LongText(item) if len(item) > LONGEST else item
    return _abridged(item)[0] if isinstance(item, list | dict) else item


def _rest(count: int) -> str:
    return f", … ({count - _ITEMS} more)" if count > _ITEMS else ""
