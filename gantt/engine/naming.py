"""Rows as watchers get them: columns by name, and names for the ids in them.

Separate from watching because it needs the columns of this process. These only have
what exists now: the names of rows that were deleted since are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gantt.model import rows as t
from gantt.model.changes import Change
from gantt.model.rows import HostRow
from gantt.model.watching import RowChange
from gantt.state.state import State

_PROVIDER = "provider"
# Column -> what its id refers to: a table of names, a provider or a host.
_REFERENCES: dict[str, str] = {
    "resource_provider_id": _PROVIDER,
    "root_provider_id": _PROVIDER,
    "parent_provider_id": _PROVIDER,
    "resource_class_id": t.RESOURCE_CLASSES,
    "project_id": t.PROJECTS,
    "user_id": t.USERS,
    "consumer_type_id": t.CONSUMER_TYPES,
    "trait_id": t.TRAITS,
    "aggregate_id": t.AGGREGATES,
    "host_id": t.HOSTS,
}
_LINKS = {t.PROVIDER_TRAITS: "trait_id", t.PROVIDER_AGGREGATES: "aggregate_id"}
# Columns that hold JSON text, which is decoded.
_DOCUMENTS = frozenset({"stats", "hosts", "metadata", "facts", "members", "remote"})


def named_change(state: State, change: Change) -> RowChange:
    """``change`` with its names, as far as ``state`` knows them."""
    link = _LINKS.get(change.table)
    row = None if change.new is None else _columns(change, link)
    ids: Mapping[str, Any] = row or {}
    if link is not None and isinstance(change.key, tuple):
        ids = dict(zip(("resource_provider_id", link), change.key, strict=True))
    return RowChange(change.table, change.key, row, dict(_names(state, ids)))


def _columns(change: Change, link: str | None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.structs.asdict(change.new)  # type: ignore[arg-type]
    if link is not None:
        found[link] = found.pop("label_id")
    if change.table in t.FLEET:
        for name in _DOCUMENTS & found.keys():
            if found[name] is not None:
                found[name] = msgspec.json.decode(found[name])
    return found


def _names(state: State, ids: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, kind in _REFERENCES.items():
        key = ids.get(column)
        # In tables of the fleet a project is a uuid already.
        if isinstance(key, int):
            name = _name(state, kind, key)
            if name is not None:
                yield column.removesuffix("_id"), name


def _name(state: State, kind: str, key: int) -> str | None:
    if kind == _PROVIDER:
        provider = state.providers.get(key)
        return None if provider is None else provider.uuid
    if kind == t.HOSTS:
        host = state.fleet.get(t.HOSTS, key)
        return f"{host.host}/{host.node}" if isinstance(host, HostRow) else None
    named = state.names(kind).get(key)
    return None if named is None else named.name
