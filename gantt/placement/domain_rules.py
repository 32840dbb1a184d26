"""Relations by topology keys: the one place that says what a domain may still take.

As with server groups (``group_rules``), hosts are picked by it and the committer asks
it again, on the newest columns: a domain's last place is never given twice. It lies
below the scheduler because both do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from gantt.model.relations import DomainTerm, Relation
from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.state.column import Bools, Int64s
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
        placed: Sequence[int] = (),
    ) -> None:
        """``group``: whose members are counted, None: only those of the request.
        ``placing``: instances that are being placed; they count where they will be.
        ``asks_service``: hosts that are disabled or down make no domain eligible.
        ``placed``: rows of hosts with others of the term that the State has not."""
        self.term = term
        self.relation = relation = term.relation
        self.domains: Domains = state.domains.of(relation.key)
        if relation.kind == "apart":
            group, placing = InstanceGroup(relation.group), ()
        if term.others:
            group, placing = InstanceGroup(members=frozenset(term.others)), ()
        self.counts = np.zeros(len(self.domains.names), np.int64)
        if group is not None:
            self.counts = _counts(state, self.domains, group, placing)
        if len(placed):
            codes = self.domains.codes[np.array(placed, np.intp)]
            self.counts += np.bincount(codes, minlength=len(self.counts))
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
        if not self.relation.is_fixed:
            code = int(self.domains.codes[row])
            self.counts[code] += 1
            self._taken.add(code)

    @property
    def holds(self) -> bool:
        """Whether all that were put are where the relation allows them together."""
        if self.relation.is_fixed:
            return True
        most = self.relation.most + self.least
        return all(code and self.counts[code] <= most for code in self._taken)

    def broken_at(self, rows: Iterable[int]) -> str | None:
        """The domain of one of the hosts at ``rows`` in which it does not hold of what
        is placed by now; None: it holds."""
        relation, counts = self.relation, self.counts
        most = 0 if relation.kind == "apart" else relation.most + self.least
        for row in rows:
            code = int(self.domains.codes[row])
            is_near = relation.kind == "near"
            is_kept = counts[code] if is_near else counts[code] <= most
            if code == NO_DOMAIN or not is_kept:
                return self.domains.names[code]
        return None


class DomainsOfClaim:
    """The relations of one claim while its instances are placed. Where there are
    several and several instances, all together must keep them; else each as it
    comes. What counts others, too, is judged once these have their places."""

    def __init__(
        self,
        state: State,
        terms: Iterable[DomainTerm],
        group: InstanceGroup | None,
        placing: Collection[str],
        *,
        asks_service: bool,
        placed: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        """``placed``: rows of hosts, by consumer, that the State has not."""
        self._counts = [
            DomainCounts(
                state,
                term,
                group,
                placing,
                asks_service=asks_service,
                placed=[at for uuid in term.others for at in placed.get(uuid, ())],
            )
            for term in terms
        ]
        kept = [one for one in self._counts if not one.relation.is_fixed]
        self._is_joint = len(kept) > 1 and len(placing) > 1

    def allows(self, row: int) -> bool:
        """Whether the next instance may go to the host at ``row``."""
        return all(
            bool(one.domains.codes[row])
            if (self._is_joint or one.term.others) and not one.relation.is_fixed
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
        own = (one for one in self._counts if not one.term.others)
        return next((one.relation.key for one in own if not one.holds), "")


def broken_in(
    state: State,
    term: DomainTerm,
    own: Iterable[int],
    placed: Mapping[str, Sequence[int]],
    *,
    asks_service: bool = True,
) -> str | None:
    """A domain in which a relation does not hold of the instances on the hosts at the
    rows ``own`` ("": they are in none); None: it holds, or counts no others.
    ``placed``: all that the State has not, as in ``DomainsOfClaim``."""
    if not term.others:
        return None
    rows = [at for uuid in term.others for at in placed.get(uuid, ())]
    counts = DomainCounts(state, term, None, (), asks_service=asks_service, placed=rows)
    return counts.broken_at(own)


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
    if relation.kind == "near":  # until any of them has its place all are open
        return np.greater(counts, 0) | (not counts.any())
    return np.less(counts, relation.most + least(relation, counts, eligible))


def in_service(state: State, domains: Domains, *, asks_service: bool = True) -> Bools:
    """bool[domains]: which have a host that is neither disabled nor down."""
    hosts, height = state.fleet.hosts, state.fleet.hosts.height
    mask = hosts.is_live[:height]
    if asks_service:
        mask = mask & ~(hosts.is_disabled[:height] | hosts.is_forced_down[:height])
    return domains.having(mask)


def _counts(
    state: State, domains: Domains, group: InstanceGroup, placing: Collection[str]
) -> Int64s:
    """int64[domains]: the members of a group, but for those that are being placed. One
    that moves counts where it is and where it goes, and in one domain once."""
    fleet, rows = state.fleet, list[int]()
    told = group_rules.told(fleet, group)
    claims, instances = fleet.claims.by_instance, fleet.instances.by_uuid
    row_by_id, rows_of = fleet.hosts.row_by_id, fleet.hosts.rows_of
    members = group_rules.members(fleet, group) | group_rules.promised(fleet, group)
    for uuid in members.difference(placing):
        claim, named = claims.get(uuid), instances.get(uuid)
        place = None
        # One that is promised as a member of another group is none of this one there.
        if claim is not None and (
            uuid in told or claim.group_uuid in (None, group.uuid)
        ):
            place = row_by_id.get(claim.host_id)
            if place is not None:
                rows.append(place)
        if named is not None:
            there = rows_of(named.host)
            if place not in there:
                nodes = _nodes_of(state, uuid, there)
                by_code = {domains.codes[row]: row for row in nodes}
                if place is not None:
                    by_code.pop(domains.codes[place], None)
                rows += by_code.values()
    codes = domains.codes[np.array(rows, np.intp)]
    return np.bincount(codes, minlength=len(domains.names))


def _nodes_of(state: State, consumer: str, rows: Collection[int]) -> Collection[int]:
    """Those of the nodes of a service host that the consumer has allocations on, all
    where that tells none."""
    consumer_row = state.consumers.row_by_uuid.get(consumer)
    if len(rows) < 2 or consumer_row is None:
        return rows
    table, roots = state.allocations, state.providers.root
    used = {int(table.provider[at]) for at in table.by_consumer.rows_of(consumer_row)}
    used |= {int(roots[one]) for one in used}
    provider = state.fleet.hosts.provider
    return [row for row in rows if int(provider[row]) in used] or rows
