"""The law of starts: no claim makes a host start more at once than it may.

Counted on plain rows: a booking starts until it is confirmed, ended or named by its
host, and the label of a host says more than the option.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.model import commands as c
from gantt.model import rows as t
from tests.simulation.history import Finding, Tables

_LAW = "no claim makes a host start more at once than it may"


def capped(before: Tables, after: Tables, command: c.Claim) -> Iterator[Finding]:
    """After ``command``."""
    if command.max_starts is None:
        return
    was, now = _starting(before), _starting(after)
    for key, host in after[t.HOSTS].items():
        assert isinstance(host, t.HostRow)
        most = _label(before, host.host, command.max_starts)
        there, known = now.get(key, set()), was.get(key, set())
        if most and there - known and len(there) > max(most, len(known)):
            yield Finding(_LAW, f"{host.host} starts {len(there)} of {most}: {command}")


def _starting(tables: Tables) -> dict[object, set[int]]:
    """Host -> its bookings that start."""
    found: dict[object, set[int]] = {}
    for row in tables[t.BOOKINGS].values():
        assert isinstance(row, t.BookingRow)
        is_known = row.counted_at is not None or row.leased_until == t.OVER
        if not is_known and (row.leased_until is not None or row.updated_at is None):
            found.setdefault(row.host_id, set()).add(row.id)
    return found


def _label(tables: Tables, host: str, usual: int) -> int:
    for row in tables[t.FACTS].values():
        assert isinstance(row, t.FactRow)
        if row.kind == "labels" and row.subject == host:
            for word in (row.reason or "").split():
                if word.startswith("starts="):
                    return int(word.removeprefix("starts="))
    return usual
