"""Which hosts have members of which group, counted apart from the columns.

A check of the scheduler must not read what the scheduler reads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from gantt.replay.events import Arrival

_TOGETHER: Final = "affinity"
_APART: Final = "anti-affinity"


class Groups:
    """Members by group and host."""

    def __init__(self) -> None:
        self._on: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._place_of: dict[str, tuple[str, str]] = {}

    def join(self, arrival: Arrival, hosts: tuple[str, ...]) -> int:
        """Count the placed members; how many of them are against their group's rule."""
        group = arrival.spec.instance_group
        if group is None or group.policy not in (_TOGETHER, _APART):
            return 0
        on, broken = self._on[group.uuid], 0
        for name, host in zip(arrival.names, hosts, strict=True):
            if group.policy == _APART:
                broken += on[host] >= group.max_server_per_host
            else:
                broken += bool(on) and host not in on
            on[host] += 1
            self._place_of[name] = group.uuid, host
        return broken

    def leave(self, name: str) -> None:
        """The instance is gone; one without a group is no error."""
        place = self._place_of.pop(name, None)
        if place is None:
            return
        on, host = self._on[place[0]], place[1]
        on[host] -= 1
        if not on[host]:
            del on[host]
