"""What is known of the fleet that is no service of Nova's, and how it is told.

Apart from its row because it came to the books as services, and is still told and
shown as such: by ``update_service`` and ``list_services``, to watchers, and in records.
So ids of facts and of services are different, as if they were of one table.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from gantt.model.bounds import MAX_SIZE
from gantt.model.changes import Change
from gantt.model.fleet import (
    AGENT,
    ARTIFACTS,
    CELL,
    DEMAND,
    LABELS,
    LIVENESS,
    OPERATOR,
    RELATIONS,
)
from gantt.model.rows import FACTS, SERVICES, FactRow, ServiceRow

FactKind = Literal[
    "cell",
    "agent",
    "operator",
    "liveness",
    "switch",
    "labels",
    "relations",
    "demand",
    "artifact",
]
SWITCH: Final = "gantt-scheduler"
"""The binary, of no host, as which it is told that the books decide amounts."""
STARTS: Final = "starts"
"""The label that says how many bookings of a host may be unconfirmed at once."""
SERVICES_ALONE: Final = frozenset({"availability_zone", "cell_uuid", "version"})
"""Fields of a service that no fact has."""
BINARIES: Final[dict[str, str]] = {
    "cell": CELL,
    "agent": AGENT,
    "operator": OPERATOR,
    "liveness": LIVENESS,
    "switch": SWITCH,
    "labels": LABELS,
    "relations": RELATIONS,
    "demand": DEMAND,
    "artifact": ARTIFACTS,
}
"""Kind of fact -> the binary as which it is told."""
_KINDS: Final[dict[str, Any]] = {binary: kind for kind, binary in BINARIES.items()}


def kind_of(host: str, binary: str) -> FactKind | None:
    """The kind of the fact that a service is kept as; None: it is a service."""
    kind: FactKind | None = _KINDS.get(binary)
    return None if kind == "switch" and host else kind


def labels_in(row: FactRow) -> dict[str, str]:
    """The labels of a host, as its fact has them: ``rack=r7 power=a``."""
    words = (word.partition("=") for word in (row.reason or "").split())
    return {key: value for key, _, value in words if key and value}


def size_in(row: FactRow) -> int:
    """The size of a registered artifact, as its fact has it; told among the services,
    it may have more digits than a size."""
    text = row.reason or ""
    return min(int(text), MAX_SIZE) if text.isdecimal() else 0


def place_of(row: FactRow) -> tuple[str, str]:
    """Host and binary as which it is told."""
    return row.subject, BINARIES[row.kind]


def as_service(row: FactRow) -> ServiceRow:
    """The fact in the form in which services are told."""
    return ServiceRow(
        row.id,
        *place_of(row),
        row.disabled,
        row.away,
        row.at,
        availability_zone=None,
        cell_uuid=None,
        version=None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        disabled_reason=row.reason,
    )


def as_fact(row: ServiceRow) -> FactRow | None:
    """What was told so; None: a service. A fact has no zone, cell or version."""
    kind = kind_of(row.host, row.binary)
    if kind is None:
        return None
    return FactRow(
        row.id,
        kind,
        row.host,
        row.disabled,
        row.forced_down,
        row.last_seen_up,
        row.disabled_reason,
        row.created_at,
        row.updated_at,
    )


def as_told(change: Change) -> Change:
    """A change as watchers and records know it."""
    if change.table != FACTS:
        return change
    new = as_service(change.new) if isinstance(change.new, FactRow) else None
    return Change(SERVICES, change.key, None, new)


def as_kept(change: Change) -> Change:
    """What was told so, in the table that has it. Of a row that is gone only its key
    tells whether it was a fact."""
    if not isinstance(change.new, ServiceRow):
        return change
    fact = as_fact(change.new)
    return change if fact is None else Change(FACTS, change.key, None, fact)
