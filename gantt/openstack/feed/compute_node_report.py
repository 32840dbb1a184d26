"""A row of compute_nodes as a host's report.

A column that cannot be read costs only itself: its value is not known then.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from gantt.errors import Invalid
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostStats

_Bad = tuple[tuple[str, str], ...]


def report_of(fields: Mapping[str, Any]) -> tuple[HostStats, _Bad]:
    """The report, and the columns that could not be read, each with why."""
    said = {
        name: None if value == "" else _plain(value)
        for name, value in fields.items()
        if not (value is None and name in _NEVER_NULL)
    }
    try:
        return read_stats(said), ()
    except Invalid:
        return _one_by_one(said)


_NEVER_NULL = frozenset(
    "vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used".split()
)


def _plain(value: Any) -> Any:
    """PostgreSQL has a type for addresses."""
    return str(value) if isinstance(value, IPv4Address | IPv6Address) else value


def _one_by_one(said: Mapping[str, Any]) -> tuple[HostStats, _Bad]:
    good: dict[str, Any] = {}
    bad = []
    for name, value in said.items():
        try:
            good[name] = getattr(read_stats({name: value}), name)
        except Invalid as error:
            bad.append((name, error.message))
            if name not in _NEVER_NULL:
                good[name] = None
    return HostStats(**good), tuple(bad)
