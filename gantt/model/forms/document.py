"""A document from outside, read field by field.

``Fields`` are one object of it, in any form: as a plain JSON object, as the primitive
of a Nova object (``nova_object.name``, ``.version``, ``.data``), or as such an object
in Python. Parsers see only the fields. A ``Reading`` has what all parts of one document
share: how strict it is, and which fields were unset or null, which Nova distinguishes
from empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from gantt.errors import Invalid
from gantt.model.forms import scalars
from gantt.model.names import canonical_uuid

T = TypeVar("T")

NAME: Final = "nova_object.name"
NAMESPACE: Final = "nova_object.namespace"
VERSION: Final = "nova_object.version"
DATA: Final = "nova_object.data"

VERSIONS: Final[Mapping[str, str]] = {
    "Aggregate": "1.3",
    "AggregateList": "1.3",
    "CellMapping": "1.1",
    "ComputeNode": "1.19",
    "ComputeNodeList": "1.17",
    "Destination": "1.4",
    "Flavor": "1.2",
    "HVSpec": "1.2",
    "ImageMeta": "1.8",
    "ImageMetaProps": "1.44",
    "Instance": "2.8",
    "InstanceGroup": "1.11",
    "InstanceList": "2.6",
    "InstanceNUMACell": "1.6",
    "InstanceNUMATopology": "1.3",
    "InstancePCIRequest": "1.4",
    "InstancePCIRequests": "1.1",
    "MonitorMetric": "1.1",
    "MonitorMetricList": "1.1",
    "NetworkMetadata": "1.0",
    "NetworkRequest": "1.3",
    "NetworkRequestList": "1.1",
    "NUMACell": "1.5",
    "NUMAPagesTopology": "1.1",
    "NUMATopology": "1.2",
    "NUMATopologyLimits": "1.1",
    "PciDevice": "1.7",
    "PciDevicePool": "1.1",
    "PciDevicePoolList": "1.1",
    "RequestGroup": "1.3",
    "RequestLevelParams": "1.1",
    "RequestSpec": "1.15",
    "SchedulerLimits": "1.0",
    "SchedulerRetries": "1.1",
    "Selection": "1.1",
    "Service": "1.22",
}
"""Nova's objects and the versions of them that are written, and read without guessing:
a newer minor may have more fields, which are ignored."""

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})(\.\d{1,6})?")


class Reading:
    """What is common to the parts of one document."""

    def __init__(self, *, is_strict: bool = False) -> None:
        self.is_strict = is_strict
        self.unset: set[str] = set()
        self.nulls: set[str] = set()


class Fields:
    """The fields of one object. ``path``: its position, for messages."""

    def __init__(self, fields: Mapping[str, Any], path: str, reading: Reading) -> None:
        self.fields = fields
        self.path = path
        self.reading = reading
        self.is_object = False
        self._asked: set[str] = set()

    def at(self, name: str) -> str:
        """The full name of a field."""
        return f"{self.path}.{name}"

    def get(self, name: str, read: Callable[[str, Any], T]) -> T | None:
        """The field as ``read`` has it; None where it is unset or null."""
        self._asked.add(name)
        value = self.fields.get(name)
        if value is not None:
            return read(f"{self.path}.{name}", value)
        if self.is_object:
            missing = self.reading.nulls if name in self.fields else self.reading.unset
            missing.add(self.at(name).partition(".")[2])
        return None

    def need(self, name: str, read: Callable[[str, Any], T]) -> T:
        """Reads a required field; see ``get``."""
        found = self.get(name, read)
        if found is None:
            raise Invalid(f"{self.at(name)} is missing; it is required.")
        return found

    def has(self, name: str) -> bool:
        """Whether the field is present and not null."""
        self._asked.add(name)
        return self.fields.get(name) is not None

    # -- scalars ------------------------------------------------------------------

    def text(self, name: str) -> str | None:
        """Text."""
        return self.get(name, scalars.text)

    def name(self, name: str) -> str | None:
        """A name that is not empty."""
        return self.get(name, scalars.name)

    def uuid(self, name: str) -> str | None:
        """A UUID; None also where it is empty. Of Nova's objects what is none is left
        out: nothing here has that name, and the rest of the request stands."""
        return self.get(name, _perhaps_uuid if self.is_object else _uuid)

    def amount(self, name: str, default: int = 0) -> int:
        """An integer that is not negative."""
        found = self.get(name, scalars.amount)
        return default if found is None else found

    def number(self, name: str) -> int | None:
        """An integer."""
        return self.get(name, scalars.whole)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        found = self.get(name, scalars.flag)
        return default if found is None else found

    # -- many ---------------------------------------------------------------------

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names; none where it is unset or null."""
        return self.get(name, scalars.names) or ()

    def uuids(self, name: str) -> frozenset[str]:
        """A set of UUIDs, read like ``uuid``."""
        read = _perhaps_uuid if self.is_object else scalars.uuid
        at = self.at(name)
        found = {read(at, each) for each in self.get(name, scalars.items) or ()}
        return frozenset(one for one in found if one is not None)

    def words(self, name: str) -> dict[str, str]:
        """An object with scalars as values, as text."""
        return self.get(name, _words) or {}

    def amounts(self, name: str) -> dict[str, int]:
        """An object with amounts as values."""
        return self.get(name, _amounts) or {}

    def plain(self, name: str) -> dict[str, Any]:
        """An object of any JSON."""
        return self.get(name, _plain_object) or {}

    # -- parts --------------------------------------------------------------------

    def part(self, name: str, kind: str) -> Fields | None:
        """An object of Nova's kind ``kind``, or a plain one."""
        return self.get(name, lambda path, v: opened(v, kind, path, self.reading))

    def parts(self, name: str, kind: str) -> tuple[Fields, ...]:
        """A list of such objects, or the list object of the kind."""
        found = self.get(name, lambda path, v: opened_all(v, kind, path, self.reading))
        return found or ()

    def one(self, name: str, kind: str, read: Callable[[Fields], T]) -> T | None:
        """What ``read`` makes of such an object."""
        part = self.part(name, kind)
        return None if part is None else read(part)

    def many(self, name: str, kind: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
        """What ``read`` makes of each object of such a list."""
        return tuple(read(part) for part in self.parts(name, kind))

    def done(self, *also: str) -> None:
        """Refuse unknown fields by name, if strict; those in ``also`` are known but
        not needed."""
        if self.is_object or not self.reading.is_strict:
            return
        if self.fields.keys() <= self._asked:
            return
        unknown = sorted(str(key) for key in self.fields if key not in self._asked)
        unknown = [key for key in unknown if key not in also]
        if unknown:
            known = ", ".join(sorted({*self._asked, *also}))
            raise Invalid(
                f"{self.path} has unknown fields: "
                f"{', '.join(scalars.shown(key) for key in unknown[:10])}. "
                f"Known fields are: {known}."
            )


def lowered(value: Any) -> Any:
    """A Python object that knows its own wire form in that form; others as they are."""
    if isinstance(value, dict | list):
        return value
    lower = getattr(value, "obj_to_primitive", None)
    return value if lower is None else lower()


def is_envelope(value: Any) -> bool:
    """Whether this is the primitive of a Nova object."""
    return isinstance(value, dict | Mapping) and (NAME in value or DATA in value)


def opened(value: Any, kind: str, path: str, reading: Reading) -> Fields:
    """An object of ``kind`` in any form. Raises Invalid: another kind, or an
    unsupported version."""
    value = lowered(value)
    is_object = is_envelope(value)
    fields = _contents(value, kind, path) if is_object else value
    if not isinstance(fields, dict | Mapping):
        raise scalars.refusal(path, "an object", fields)
    part = Fields(fields, path, reading)
    part.is_object = is_object
    return part


def opened_all(
    value: Any, kind: str, path: str, reading: Reading
) -> tuple[Fields, ...]:
    """A list of objects of ``kind``, the list object, or a single object."""
    value = lowered(value)
    if is_envelope(value) and value.get(NAME) != kind:
        value = _contents(value, f"{kind}List", path).get("objects", ())
    elif isinstance(value, Mapping):
        return (opened(value, kind, path, reading),)
    return tuple(
        opened(each, kind, f"{path}.{number}", reading)
        for number, each in enumerate(scalars.items(path, value))
    )


def _contents(value: Mapping[str, Any], kind: str, path: str) -> Mapping[str, Any]:
    name = value.get(NAME)
    if name != kind:
        raise refusal_of_kind(path, kind, name)
    namespace = value.get(NAMESPACE, "nova")
    if namespace != "nova":
        raise scalars.refusal(f"{path} {NAMESPACE}", "'nova'", namespace)
    if value.get(VERSION) != VERSIONS[kind]:
        check_version(f"{path} ({kind})", value.get(VERSION), VERSIONS[kind])
    data = value.get(DATA)
    if not isinstance(data, dict | Mapping):
        raise scalars.refusal(f"{path} {DATA}", "an object", data)
    return data


def refusal_of_kind(path: str, kind: str, name: Any) -> Invalid:
    """``path`` holds a Nova object of another kind."""
    return scalars.refusal(f"{path} {NAME}", repr(kind), name)


def check_version(path: str, version: Any, known: str) -> bool:
    """Whether ``version`` is newer than ``known``. Raises Invalid for a newer major."""
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if found is None:
        raise scalars.refusal(f"{path} version", f"one such as {known!r}", version)
    major, minor = int(found[1]), int(found[2])
    known_major, known_minor = (int(each) for each in known.split("."))
    if major > known_major or major == 0:
        raise Invalid(
            f"{path} has version {version}, but the supported version is "
            f"{known}: send {known_major}.x, or upgrade Gantt."
        )
    return (major, minor) > (known_major, known_minor)


def _uuid(path: str, value: Any) -> str | None:
    return None if value == "" else scalars.uuid(path, value)


def _perhaps_uuid(path: str, value: Any) -> str | None:
    return canonical_uuid(scalars.text(path, value))


def _words(path: str, value: Any) -> dict[str, str]:
    found = scalars.mapping(path, value)
    return {key: scalars.word(f"{path}.{key}", each) for key, each in found.items()}


def _amounts(path: str, value: Any) -> dict[str, int]:
    found = scalars.mapping(path, value)
    return {key: scalars.amount(f"{path}.{key}", each) for key, each in found.items()}


def _plain_object(path: str, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = scalars.plain(path, scalars.mapping(path, value))
    return found
