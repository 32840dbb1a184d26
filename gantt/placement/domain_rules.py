"""Relations by topology keys: the one place that says what a domain may still take.

As with server groups (``group_rules``), hosts are picked by it and the committer asks
it again, on the newest columns: a domain's last place is never given twice. It lies
below the scheduler because both do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from gantt.model.relations import DomainTerm, Relation
from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.state.column import NO_ROW, Bools, Int64s
from gantt.state.domains import NO_DOMAIN, Domains
from gantt.state.state import State


class DomainCounts:
    """One relation while instances are placed. By domain, as ``domains.names`` has
    them: ``counts``, int64, how many there are; ``eligible``, bool, which count for the
    least."""

    def __init__(
        self,
        state: State,
        term: DomainTerm,
        group: InstanceGroup | None,
        placing: Collection[str],
        *,
        asks_service: bool = True,
    ) -> None:
        """``group``: whose members are counted, None: only those of the request.
        ``placing``: instances that are being placed; they count where they will be.
        ``asks_service``: hosts that are disabled or down make no domain eligible."""
        self.relation = relation = term.relation
        self.domains: Domains = state.domains.of(relation.key)
        members = frozenset[str]()
        if relation.kind == "apart":
            group = InstanceGroup(relation.group)
        if group is not None:
            members = group_rules.members(state.fleet, group)
            members |= group_rules.promised(state.fleet, group)
            if relation.kind != "apart":
                members = members.difference(placing)
        self.counts = _counts(state, self.domains, group, members)
        self.eligible = in_service(state, self.domains, asks_service=asks_service)
        if term.left_out:
            names = self.domains.names
            out = [code for code, name in enumerate(names) if name in term.left_out]
            self.eligible[out] = False
        self._taken: set[int] = set()

    @property
    def least(self) -> int:
        """What the domain with the least counts as."""
        return least(self.relation, self.counts, self.eligible)

    def open(self) -> Bools:
        """bool[domains]: which may take one more."""
        found = still_open(self.relation, self.counts, self.eligible)
        found[NO_DOMAIN] = False
        return found

    def allows(self, row: int) -> bool:
        """Whether the host at ``row`` may take one more."""
        return bool(self.open()[self.domains.codes[row]])

    def put(self, row: int) -> None:
        """One more is on the host at ``row``."""
        if self.relation.kind != "apart":
            code = int(self.domains.codes[row])
            self.counts[code] += 1
            self._taken.add(code)

    @property
    def holds(self) -> bool:
        """Whether all that were put are where the relation allows them together."""
        if self.relation.kind == "apart":
            return True
        most = self.relation.most + self.least
        return all(code and self.counts[code] <= most for code in self._taken)


class DomainsOfClaim:
    """The relations of one claim while its instances are placed. Where there are
    several and several instances, all together must keep them; else each as it
    comes."""

    def __init__(
        self,
        state: State,
        terms: Iterable[DomainTerm],
        group: InstanceGroup | None,
        placing: Collection[str],
        *,
        asks_service: bool,
    ) -> None:
        self._counts = [
            DomainCounts(state, term, group, placing, asks_service=asks_service)
            for term in terms
        ]
        kept = [one for one in self._counts if one.relation.kind != "apart"]
        self._is_joint = len(kept) > 1 and len(placing) > 1

    def allows(self, row: int) -> bool:
        """Whether the next instance may go to the host at ``row``."""
        return all(
            bool(one.domains.codes[row])
            if self._is_joint and one.relation.kind != "apart"
            else one.allows(row)
            for one in self._counts
        )

    def put(self, row: int) -> None:
        """It goes there."""
        for one in self._counts:
            one.put(row)

    @property
    def broken(self) -> str:
        """The key of a relation that all together do not keep; "": they keep all."""
        return next((one.relation.key for one in self._counts if not one.holds), "")


def least(relation: Relation, counts: Int64s, eligible: Bools) -> int:
    """The least count of an eligible domain; 0 where there are too few of these, and
    where the relation compares with none."""
    if relation.kind != "spread":
        return 0
    found = counts[eligible]
    if len(found) < max(relation.min_domains, 1):
        return 0
    return int(found.min())


def still_open(relation: Relation, counts: Int64s, eligible: Bools) -> Bools:
    """bool[domains]: which may have one more."""
    if relation.kind == "apart":
        return np.equal(counts, 0)
    return np.less(counts, relation.most + least(relation, counts, eligible))


def in_service(state: State, domains: Domains, *, asks_service: bool = True) -> Bools:
    """bool[domains]: which have a host that is neither disabled nor down."""
    hosts = state.fleet.hosts
    rows = hosts.live_rows()
    if asks_service:
        rows = rows[~(hosts.is_disabled[rows] | hosts.is_forced_down[rows])]
    return occupied(domains, rows)


def occupied(domains: Domains, rows: Int64s) -> Bools:
    """bool[domains]: which have one of the hosts at ``rows``."""
    found = np.zeros(len(domains.names), np.bool_)
    found[domains.codes[rows]] = True
    found[NO_DOMAIN] = False
    return found


def _counts(
    state: State,
    domains: Domains,
    group: InstanceGroup | None,
    members: Iterable[str],
) -> Int64s:
    """int64[domains]: one that moves counts where it is and where it goes, and in one
    domain once."""
    found = np.zeros(len(domains.names), np.int64)
    for uuid in members:
        rows = _rows_of(state, group, uuid)
        for code in {int(domains.codes[row]) for row in rows}:
            found[code] += 1
    return found


def _rows_of(state: State, group: InstanceGroup | None, uuid: str) -> set[int]:
    """The hosts that an instance is on, or promised, as a member of the group. Of a
    service host with several nodes: the one that its allocations name, else all."""
    fleet = state.fleet
    claim = fleet.claims.by_instance.get(uuid)
    promised = None if claim is None else fleet.hosts.row_by_id.get(claim.host_id)
    hosts = (
        fleet.hosts_of(uuid)
        if group is None
        else group_rules.hosts_of(fleet, group, uuid)
    )
    found: set[int] = set()
    for host in hosts:
        rows = fleet.hosts.rows_of(host)
        if promised in rows:
            found.add(promised)
        elif len(rows) == 1:
            found.update(rows)
        else:
            used = _providers_of(state, uuid)
            mine = {row for row in rows if int(fleet.hosts.provider[row]) in used}
            found |= mine or set(rows)
    return found


def _providers_of(state: State, consumer: str) -> set[int]:
    """The providers that it has allocations of, and the roots of their trees."""
    row = state.consumers.row_by_uuid.get(consumer)
    if row is None:
        return set()
    table = state.allocations
    providers = [int(table.provider[at]) for at in table.by_consumer.rows_of(row)]
    return {*providers, *(int(state.providers.root[one]) for one in providers)} - {
        NO_ROW
    }
