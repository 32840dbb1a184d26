"""The law of spread: no claim puts more into a domain than its relation allows.

Counted on plain rows, in the naive way: racks are read from the labels of hosts, and
members found without the functions that the rule uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.relations import DomainTerm
from tests.simulation.history import Finding, Tables

_LAW = "no claim takes a domain beyond its relation"


def spread(
    command: c.Claim,
    before: Tables,
    after: Tables,
    kept: Set[str],
    members: Mapping[str, set[str]],
) -> Iterator[Finding]:
    """``kept``: instances that go on with a claim of before; ``members``: of the
    command's group before, with the hosts that they are on."""
    hosts = {r.id: r.host for r in after[t.HOSTS].values() if isinstance(r, t.HostRow)}
    placed = {
        row.instance_uuid: hosts[row.host_id]
        for row in after[t.BOOKINGS].values()
        if isinstance(row, t.BookingRow) and row.claim == command.claim
    }
    new = {uuid: host for uuid, host in placed.items() if uuid not in kept}
    for term in command.domains:
        yield from _kept(term, before, new, members)


def _kept(
    term: DomainTerm,
    before: Tables,
    new: Mapping[str, str],
    members: Mapping[str, set[str]],
) -> Iterator[Finding]:
    relation = term.relation
    rack_of = _labels(before, relation.key)
    off = {
        row.host
        for row in before[t.SERVICES].values()
        if isinstance(row, t.ServiceRow) and (row.disabled or row.forced_down)
    }
    counts = Counter(
        rack
        for uuid, there in members.items()
        if uuid not in new
        for rack in {rack_of[host] for host in there if host in rack_of}
    )
    counts.update(rack_of.get(host, "") for host in new.values())
    named = {r.host for r in before[t.HOSTS].values() if isinstance(r, t.HostRow)}
    eligible = {
        rack_of[host] for host in named - off if host in rack_of
    } - term.left_out
    least = min((counts[rack] for rack in eligible), default=0)
    if relation.kind != "spread" or len(eligible) < relation.min_domains:
        least = 0
    for host in new.values():
        rack = rack_of.get(host, "")
        if not rack or counts[rack] > relation.most + least:
            yield Finding(_LAW, f"{term}: {counts} of {sorted(eligible)} by {new}")


def _labels(tables: Tables, key: str) -> dict[str, str]:
    """Host -> its domain."""
    found = {}
    for row in tables[t.FACTS].values():
        if isinstance(row, t.FactRow) and row.kind == "labels":
            for word in (row.reason or "").split():
                if word.startswith(f"{key}="):
                    found[row.subject] = word.removeprefix(f"{key}=")
    return found
