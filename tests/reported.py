"""Reports as the agents of hosts send them."""

from __future__ import annotations

import time
from typing import Any

from gantt.engine.gantt import Gantt
from gantt.model.hosts import HostStats
from gantt.model.reports import Report

NOTHING = HostStats()


def report_of(
    host: str, sequence: int, fields: HostStats = NOTHING, **more: Any
) -> Report:
    """What the only node of ``host`` says now, in full. ``more``: what else the report
    has, or something else instead."""
    plain = {
        "node": host,
        "incarnation": "a",
        "taken_at": time.time_ns() // 1000,
        "full": True,
    }
    return Report(host=host, sequence=sequence, fields=fields, **{**plain, **more})


def agents_there(books: Gantt) -> dict[str, bool]:
    """Host -> whether its agent is there, of those that are judged."""
    return {
        one.host: one.service["agent"]["is_member"]
        for one in books.list_hosts()
        if "agent" in one.service
    }
