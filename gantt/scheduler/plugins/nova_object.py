"""Objects that answer to Nova's names: attributes, ``in``, ``get`` and ``[…]``.

Filters and weighers written for Nova read versioned objects of newer releases like
attributes and of older ones like dicts; some do both. These need no Nova.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SETS = frozenset({"cpuset", "pcpuset", "pinned_cpus", "cpuset_reserved"})
"""Fields of Nova's objects that are sets, which JSON has as lists."""


class LegacyObject:
    """What is not among ``fields`` is unset: reading it is an AttributeError."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def __getitem__(self, name: str) -> Any:
        try:
            return self.__dict__[name]
        except KeyError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__name__}({fields})"

    def get(self, name: str, default: Any = None) -> Any:
        return self.__dict__.get(name, default)

    def keys(self) -> list[str]:
        return list(self.__dict__)

    def items(self) -> list[tuple[str, Any]]:
        return list(self.__dict__.items())

    def to_dict(self) -> dict[str, Any]:
        """A copy of the fields that are set."""
        return dict(self.__dict__)

    def obj_attr_is_set(self, name: str) -> bool:
        """Whether the field is set, to None perhaps."""
        return name in self


class LegacyList(list[Any]):
    """A list object: it is its list, and has it as ``objects`` too."""

    @property
    def objects(self) -> list[Any]:
        return self


def unpacked(value: Any) -> Any:
    """Objects for what Nova's serializer made of its own; all else as it is."""
    if isinstance(value, list | tuple):
        return [unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    data = value.get("nova_object.data")
    if not isinstance(data, dict):
        return dict(value)
    if data.keys() == {"objects"}:
        return LegacyList(unpacked(data["objects"]))
    return LegacyObject(**{name: _field(name, one) for name, one in data.items()})


def _field(name: str, value: Any) -> Any:
    if name in SETS and isinstance(value, list):
        return set(value)
    if name == "siblings" and isinstance(value, list):
        return [set(one) for one in value]
    return unpacked(value)
