"""Which hosts are down or up, by what is known of a group: pure.

The service for coordination ends the membership of a host whose heartbeats stop. That a
host is missing says so only if the service itself has neither been away nor lost its
memory: the watcher is a member too, and where it is missing, the service has forgotten
more than one member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.fleet import Verdict

SETTLING: Final = 2
"""Intervals after an outage in which hosts that are missing may still come back."""


class MemberSightings(Struct, frozen=True):
    """What a watcher saw. Times are seconds of one monotonic clock.

    ``began_at``: when it began to look. ``answered_at``: when members were last known;
    None: never. ``whole_since``: since when every look found members, the watcher among
    them; None: the last did not. ``members``: hosts found by the last look that found
    any members, ``before``: by the one before it.
    """

    began_at: float
    answered_at: float | None = None
    whole_since: float | None = None
    members: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()

    def answered(self, hosts: frozenset[str], now: float) -> MemberSightings:
        """A look found these hosts, and the watcher among the members."""
        since = now if self.whole_since is None else self.whole_since
        return MemberSightings(self.began_at, now, since, hosts, self.members)

    def failed(self) -> MemberSightings:
        """A look found no answer, or the watcher not among the members."""
        return replace(self, whole_since=None)


def judge(
    seen: MemberSightings, known: Mapping[str, bool], *, now: float, interval: float
) -> Verdict:
    """``known``: host -> whether it is up, as last decided; ``interval``: seconds
    between heartbeats, and the time after which a membership without one ends.

    Two looks in a row must miss a host: one that joins again leaves for a moment.
    """
    last = seen.began_at if seen.answered_at is None else seen.answered_at
    if now - last > interval:
        return Verdict(is_frozen=True)
    if seen.whole_since is None:
        return Verdict()
    up = tuple(sorted(host for host in seen.members if not known.get(host, False)))
    if now - seen.whole_since < SETTLING * interval:
        return Verdict(up)
    there = seen.members | seen.before
    down = tuple(
        sorted(host for host, is_up in known.items() if is_up and host not in there)
    )
    return Verdict(up, down, is_frozen=False)
