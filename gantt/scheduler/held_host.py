"""What is held of a host: for others to whom it was advised a moment ago, or for what
the same demand has placed there before."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gantt.scheduler.hosts import Taken
from gantt.topology.promised_topology import PromisedTopology


class HeldHost(Struct):
    """What is held of one host: ``count`` instances, which take ``taken`` together, and
    ``amounts`` by (provider, resource class). ``groups``: server groups of these
    instances whose members must be apart; ``pendings``: cells and devices of each.
    ``is_firm``: of the same demand, so that no other may have it."""

    taken: Taken = Taken(0, 0, 0)
    count: int = 0
    amounts: dict[tuple[str, str], int] = {}
    groups: frozenset[str] = frozenset()
    pendings: tuple[PromisedTopology, ...] = ()
    is_firm: bool = False

    def add(
        self,
        taken: Taken,
        amounts: Mapping[tuple[str, str], int],
        group: str | None,
        pending: PromisedTopology | None = None,
    ) -> None:
        """One more instance."""
        self.taken = Taken(*map(sum, zip(self.taken, taken, strict=True)))
        self.count += 1
        for key, amount in amounts.items():
            self.amounts[key] = self.amounts.get(key, 0) + amount
        if group is not None:
            self.groups |= {group}
        if pending is not None:
            self.pendings += (pending,)
