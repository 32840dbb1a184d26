"""The options of shadowing, in ``[gantt]``.

Separate from the other options of that group because each door to a cloud has a table
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from gantt.conf.table import rows
from gantt.engine.options import ShadowOptions

OPTIONS: Sequence[cfg.Opt] = [
    *rows(
        ShadowOptions(),
        {
            "shadow_settle_s 1..3600": "Seconds that a shadow waits for Nova's claim. "
            "When none has come, it concludes that Nova refused the request.",
            "shadow_pending 1..100000": "Maximum requests per worker that wait for "
            "Nova's claim; beyond it the oldest are dropped.",
            "shadow_pending_hosts 1": "Maximum hosts in the rankings that they keep "
            "per worker, all together; beyond it the oldest are dropped.",
            "shadow_hosts 1..10000": "Ranked hosts, and refused hosts, that a shadow "
            "record keeps.",
            "shadow_scored 2..10000": "Hosts for which differences are reported by "
            "weigher; a host that ranks lower differs by its weight alone.",
            "shadow_records 1..100000": "Shadow records that all processes on a "
            "database keep together.",
            "shadow_backlog 1..100000": "Shadow records that may wait in a process to "
            "be written to the database; beyond that, the oldest are dropped.",
        },
    ),
]
