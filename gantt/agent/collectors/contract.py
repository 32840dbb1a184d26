"""The interface of a collector: it reads one aspect of a machine and reports it.

Separate so that a plug-in needs nothing else of the agent: a class without arguments,
under an entry point of ``gantt.collectors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from gantt.agent.files import FileProblem, Files
from gantt.model.commands import Inventory
from gantt.model.names import MAX_INT
from gantt.model.reports import STATS, column_key

INVENTORIES: Final = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "local_gb"}
"""Resource class -> the field of HostStats that is its total."""


class Collector(Protocol):
    """Reads one aspect of a machine. One object is asked again and again, so that it
    may compare with what it read before."""

    @property
    def provides(self) -> frozenset[str]:
        """The fields of HostStats that it may find, and columns of its own
        (``stats.KEY``)."""

    def collect(self, files: Files) -> dict[str, Any]:
        """Read them now: field -> value, JSON columns decoded. A field that cannot be
        read is left out, and ``files.problems`` says why. A list or object that several
        collectors provide is merged."""


class Part(Struct, frozen=True):
    """What is known of a machine. ``fields``: of HostStats, by name. ``problems``: what
    could not be read; ``unread``: fields and columns that are missing for it."""

    fields: dict[str, Any] = {}
    problems: tuple[FileProblem, ...] = ()
    unread: frozenset[str] = frozenset()

    @property
    def inventories(self) -> dict[str, Inventory]:
        """Its amounts as inventories; nothing for less than one unit."""
        found = {}
        for name, field in INVENTORIES.items():
            total = self.fields.get(field, 0)
            if total > 0:
                found[name] = Inventory(total=total, max_unit=total)
        return found

    @property
    def traits(self) -> frozenset[str]:
        """Names of os-traits."""
        return frozenset(self.fields.get("traits", ()))


def bounded(amount: int) -> int:
    """The amount, or as much of it as a column holds."""
    return min(amount, MAX_INT)


def merge(parts: Iterable[Part]) -> Part:
    """All of ``parts`` as one: lists are joined, objects merged; of anything else a
    later part wins."""
    fields: dict[str, Any] = {}
    problems: list[FileProblem] = []
    unread: set[str] = set()
    for part in parts:
        for name, value in part.fields.items():
            fields[name] = _joined(fields.get(name), value)
        problems += part.problems
        unread |= part.unread
    if "traits" in fields:
        fields["traits"] = tuple(sorted(set(fields["traits"])))
    return Part(fields, tuple(problems), frozenset(unread - provided(fields, unread)))


def provided(fields: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """What ``fields`` has, in the terms of ``names``: keys of ``stats`` where those are
    meant, else whole fields."""
    found = set(fields)
    stats = fields.get(STATS)
    if isinstance(stats, dict) and any(column_key(name) for name in names):
        found = found - {STATS} | {f"{STATS}.{key}" for key in stats}
    return found


def _joined(known: Any, value: Any) -> Any:
    if isinstance(known, list | tuple) and isinstance(value, list | tuple):
        return [*known, *value]
    if isinstance(known, dict) and isinstance(value, dict):
        return {**known, **value}
    return value
