"""The options of liveness, in ``[coordination]``.

Separate from the other options because agents take the same ones on their command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from gantt.conf.table import rows
from gantt.liveness.options import CoordinationOptions

OPTIONS: Sequence[cfg.Opt] = [
    cfg.StrOpt(
        "backend_url",
        default=CoordinationOptions().backend_url,
        secret=True,
        help="Service in which agents are members of a group, as tooz writes it: "
        "redis://HOST:PORT, memcached://HOST:PORT, etcd3+http://HOST:PORT or "
        "zookeeper://HOST:PORT; a host that is not a member any more is down. Unset: "
        "liveness is not asked of such a service.",
    ),
    *rows(
        CoordinationOptions(),
        {
            "group": "Name of that group.",
            "heartbeat_interval 2..3600": "Seconds in which an agent must show that it "
            "is there; a host is down at most two of them after its last heartbeat. "
            "The agents' --heartbeat must be the same.",
        },
    ),
]
