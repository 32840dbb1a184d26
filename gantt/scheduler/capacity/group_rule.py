"""What the rule of a server group leaves of each service host, while its members are
counted there.

Apart from the counting because it is about service hosts, whichever of their nodes.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from gantt.placement import group_rules
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.blocks import RULES
from gantt.state.column import Bools, Int64s

_UNLIMITED: Final = 2**62


class GroupRule:
    """What a group's rule allows. As at the committer, none applies where its filter
    does not (hosts are forced, for example). ``allowed``: bool[hosts]; ``is_together``:
    all go to one service host, any one. ``added``: service host -> members counted so
    far, here or elsewhere."""

    def __init__(
        self, feasible: FeasibleHosts, added: Counter[str] | None = None
    ) -> None:
        group, self._hosts = feasible.request.spec.instance_group, feasible.hosts
        policy = None if group is None else group.policy
        self.name = RULES.get(policy or "", "")
        self.is_hard = self.name in feasible.asked
        self.is_together = False
        self.allowed = np.ones(len(self._hosts), np.bool_)
        self._most = _UNLIMITED
        self._there: Counter[str] = Counter()
        self._added = Counter[str]() if added is None else added
        if group is None or not self.is_hard:
            return
        if policy == group_rules.ANTI_AFFINITY:
            self._most = group.max_server_per_host
            self._there.update(group_rules.counts(self._hosts.fleet, group))
        elif policy == group_rules.AFFINITY:
            known = group_rules.hosts(self._hosts.fleet, group)
            self.is_together = not known
            if known:
                self.allowed = self._hosts.at_hosts(known)

    def left(self, name: str) -> int:
        """How many more the service host may have."""
        return max(0, self._most - self._there[name] - self._added[name])

    def left_each(self) -> Int64s:
        """int64[hosts]: ``left`` of each one's service host; where all go to one that
        was chosen, 0 for the others."""
        counts = self._there + self._added
        left = np.maximum(self._most - self._hosts.counts_on(dict(counts)), 0)
        left[~self.allowed] = 0
        if self.is_together and self._added:
            left[~self._hosts.at_hosts(self._added)] = 0
        return left

    def add(self, name: str, count: int) -> None:
        """Count so many on the service host."""
        self._added[name] += count

    def shuts(self, names: list[str]) -> Bools:
        """bool[hosts]: whose service host, of these ``names``, may have no more; where
        all go to one, any but the one that takes the most."""
        if self.is_together:
            best = max(self._added, key=self._added.__getitem__, default=None)
            return np.array([name != best for name in names], np.bool_)
        return ~self.allowed | np.array([not self.left(n) for n in names], np.bool_)
