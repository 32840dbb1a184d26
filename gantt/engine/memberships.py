"""What is told of agents that came or went: as services for the books, and in the log.

Separate from what finds it out: heartbeats in the database, or a group of agents in a
service for coordination.
"""

from __future__ import annotations

import logging
from typing import Final

from gantt.model.fleet import AGENT, LIVENESS, Verdict
from gantt.model.hosts import Service

LOG = logging.getLogger(__name__)
_NAMED: Final = 10


def statement(verdict: Verdict, *, was_frozen: bool, now: int) -> tuple[Service, ...]:
    """What ``verdict`` changes in the books; ``now``: microseconds since 1970."""
    found = [
        Service(host, AGENT, forced_down=is_down, last_seen_up=now)
        for is_down, hosts in ((False, verdict.up), (True, verdict.down))
        for host in hosts
    ]
    if verdict.is_frozen is not None and verdict.is_frozen != was_frozen:
        frozen = verdict.is_frozen
        found.append(Service(LIVENESS, LIVENESS, forced_down=frozen, last_seen_up=now))
    return tuple(found)


def tell(verdict: Verdict, *, was_frozen: bool) -> None:
    """Log it, in a line for all hosts."""
    for word, hosts in (("up", verdict.up), ("down", verdict.down)):
        if hosts:
            more = ", …" if len(hosts) > _NAMED else ""
            names = ", ".join(hosts[:_NAMED])
            LOG.info("%d hosts are %s: %s%s", len(hosts), word, names, more)
    if verdict.is_frozen and not was_frozen:
        LOG.error("Liveness is frozen: no host goes down or comes up.")
    elif was_frozen and verdict.is_frozen is False:
        LOG.warning("Liveness is known again.")
