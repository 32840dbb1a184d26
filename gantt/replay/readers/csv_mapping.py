"""CSV of any kind, described by a small TOML file that names its columns.

[columns]
name = "vm_id"
at = { column = "created", unit = "s" }
vcpus = "cores"
memory_mb = { column = "memory_gib", scale = 1024 }
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from gantt.errors import Invalid
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ResourceGroup
from gantt.placement.group_rules import ANTI_AFFINITY
from gantt.replay.events import Arrival, Skipped
from gantt.replay.machines import uuid_of
from gantt.replay.readers.csv_lines import CsvTable, whole

_UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000,
                 "h": 3_600_000_000, "d": 86_400_000_000}  # fmt: skip


class CsvColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """``scale``: the cell's number is multiplied by it. ``unit``: of a time."""

    column: str
    scale: float = 1.0
    unit: str = "s"


class CsvColumns(Struct, frozen=True, forbid_unknown_fields=True):
    """Which column has what; ``name`` and ``at`` must be there. ``group``: a group
    whose members must not share a host, ``group_limit``: how many may. An empty cell is
    0, no group, or an instance that does not go."""

    name: CsvColumn
    at: CsvColumn
    until: CsvColumn | None = None
    lasts: CsvColumn | None = None
    vcpus: CsvColumn | None = None
    memory_mb: CsvColumn | None = None
    disk_gb: CsvColumn | None = None
    group: CsvColumn | None = None
    group_limit: CsvColumn | None = None


class CsvMapping(Struct, frozen=True, forbid_unknown_fields=True):
    """``resources``: resource class -> its column."""

    columns: CsvColumns
    resources: dict[str, CsvColumn] = {}


def read_mapping(path: Path) -> CsvMapping:
    """Raises Invalid."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        spelled = _spelled(raw)
        _check_resources(path, spelled.get("resources"))
        mapping = msgspec.convert(spelled, CsvMapping)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise Invalid(f"{path} is no mapping of columns: {error}.") from error
    for one in (mapping.columns.at, mapping.columns.until, mapping.columns.lasts):
        if one is not None and one.unit not in _UNITS:
            raise Invalid(
                f"{path}: unit {one.unit!r} of {one.column!r} is not one of "
                f"{', '.join(_UNITS)}."
            )
    return mapping


def _check_resources(path: Path, resources: Any) -> None:
    """Raises Invalid, which names the resource class."""
    for name, one in resources.items() if isinstance(resources, dict) else ():
        try:
            msgspec.convert(one, CsvColumn)
        except msgspec.ValidationError as error:
            raise Invalid(
                f'{path}: resources["{name}"] is {one!r}: {error}. Write the name of a '
                'column, or { column = "name", scale = 1.0 }.'
            ) from error


def _spelled(raw: dict[str, Any]) -> dict[str, Any]:
    """With columns that are given by name alone written out."""
    return {
        section: {
            key: {"column": value} if isinstance(value, str) else value
            for key, value in entries.items()
        }
        if isinstance(entries, dict)
        else entries
        for section, entries in raw.items()
    }


class Mapped:
    """``skipped``: what could not be read."""

    def __init__(self, path: Path, mapping: CsvMapping) -> None:
        self._table = CsvTable(path)
        self._path = path
        self._mapping = mapping

    @property
    def skipped(self) -> list[Skipped]:
        return self._table.skipped

    def arrivals(self) -> Iterator[Arrival]:
        """By time, from the first on. Raises Invalid where a column is missing."""
        found = []
        for line, fields in self._table:
            self._check(fields)
            try:
                found.append(self._arrival(fields))
            except _Bad as bad:
                self._table.skip(line, bad.column, bad.reason)
        found.sort(key=lambda one: (one.at, one.names))
        start = found[0].at if found else 0
        return (_moved(one, start) for one in found)

    def _check(self, fields: dict[str, str]) -> None:
        for one in (*_given(self._mapping.columns), *self._mapping.resources.values()):
            if one.column not in fields:
                raise Invalid(
                    f"{self._path} has no column {one.column!r}, which the mapping "
                    f"names; it has {', '.join(fields)}."
                )

    def _arrival(self, fields: dict[str, str]) -> Arrival:
        columns = self._mapping.columns
        at = _time(fields, columns.at)
        until = None
        if columns.until is not None and fields[columns.until.column]:
            until = max(at, _time(fields, columns.until))
        elif columns.lasts is not None and fields[columns.lasts.column]:
            until = at + _time(fields, columns.lasts)
        name = fields[columns.name.column]
        return Arrival(at, (name,), self._spec(fields), (until,))

    def _spec(self, fields: dict[str, str]) -> RequestSpec:
        columns = self._mapping.columns
        flavor = Flavor(
            _amount(fields, columns.vcpus),
            _amount(fields, columns.memory_mb),
            _amount(fields, columns.disk_gb),
        )
        wanted = {
            name: _amount(fields, one) for name, one in self._mapping.resources.items()
        }
        more = {name: amount for name, amount in wanted.items() if amount}
        return RequestSpec(
            flavor,
            instance_group=self._group(fields),
            requested_resources=(
                (ResourceGroup(None, more, use_same_provider=False),) if more else ()
            ),
        )

    def _group(self, fields: dict[str, str]) -> InstanceGroup | None:
        columns = self._mapping.columns
        name = "" if columns.group is None else fields[columns.group.column]
        if not name:
            return None
        limit = _amount(fields, columns.group_limit) or 1
        return InstanceGroup(uuid_of("group", name), ANTI_AFFINITY, limit)


class _Bad(Exception):
    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"{column}: {reason}")
        self.column, self.reason = column, reason


def _given(columns: CsvColumns) -> Iterator[CsvColumn]:
    for name in columns.__struct_fields__:
        one = getattr(columns, name)
        if one is not None:
            yield one


def _amount(fields: dict[str, str], column: CsvColumn | None, scale: float = 1) -> int:
    if column is None or not fields[column.column]:
        return 0
    try:
        return whole(fields[column.column], column.scale * scale)
    except ValueError as error:
        raise _Bad(column.column, str(error)) from error


def _time(fields: dict[str, str], column: CsvColumn) -> int:
    return _amount(fields, column, _UNITS[column.unit])


def _moved(one: Arrival, start: int) -> Arrival:
    until = tuple(None if end is None else end - start for end in one.until)
    return msgspec.structs.replace(one, at=one.at - start, until=until)
