"""The options of ``gantt scheduler``, under the names that a ``nova.conf`` has.

Separate from ``scheduling``, whose options say how hosts are chosen: these say how a
cloud reaches the process that chooses. The message bus itself (``transport_url``,
``[oslo_messaging_rabbit]``) is configured by the library that speaks to it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Final

from oslo_config import cfg

from gantt.conf.option_table import rows, values_of
from gantt.conf.values import RpcOptions

_OURS: Final = RpcOptions()
FORMATS: Final = ("unversioned", "versioned", "both")

DEFAULT: Sequence[cfg.Opt] = [
    cfg.StrOpt(
        "host",
        sample_default="<the name of this machine>",
        help="For gantt scheduler: name of this host in the cloud; unset: that of the "
        "machine. Hosts of one topic need different names.",
    ),
    *rows(
        _OURS,
        {
            "report_interval 1..86400": "For gantt scheduler: seconds between "
            "heartbeats of its row in the services table.",
        },
    ),
]

SCHEDULER: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "workers 1..1024": "For gantt scheduler: number of worker processes.",
            "discover_hosts_in_cells_interval -1..86400": "For gantt scheduler: "
            "seconds between searches for hosts that no cell is mapped to; 0: 60 "
            "seconds; -1: never. Of all schedulers that are up, only the first by name "
            "searches.",
            "neutron_timeout_s 0.1..3600": "For gantt scheduler: seconds that Neutron "
            "has to tell the segments of a request's networks "
            "(query_placement_for_routed_network_aggregates); then no host is found.",
            "neutron_answers 0..1000000": "For gantt scheduler: maximum networks and "
            "subnets per process whose segments are not asked for again; 0: none.",
            "neutron_answers_s 0..3600": "For gantt scheduler: seconds that their "
            "segments are not asked for again.",
            "neutron_answer_size_limit 1024..": "For gantt scheduler: maximum bytes of "
            "one answer of Neutron; a larger one is a failure.",
        },
    )
]

NOTIFICATIONS: Sequence[cfg.Opt] = [
    cfg.StrOpt(
        "notification_format",
        default=_OURS.notification_format,
        choices=FORMATS,
        deprecated_group="DEFAULT",
        help="For gantt scheduler: format of the notifications before and after a "
        "selection, if [oslo_messaging_notifications] driver sends any.",
    ),
    *rows(
        _OURS,
        {
            "versioned_notifications_topics": "For gantt scheduler: topics of "
            "notifications in the versioned format.",
        },
    ),
]

NOVA: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "write_password secret": "Password of write_user.",
            "write_user": "For gantt scheduler: user that writes heartbeats, and which "
            "cell a new host is in, to Nova's databases, in place of the one in their "
            "URLs; docs/how-to/replace-nova-scheduler.md has the rights that it needs. "
            "Unset: neither is written.",
        },
    ),
]

# What else this section has is read by the library that signs in (``remote``).
NEUTRON: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "http_retries 0..100": "For gantt scheduler: further attempts to ask "
            "Neutron where it cannot be reached, within neutron_timeout_s.",
        },
    ),
]

GROUPS: Mapping[str, Sequence[cfg.Opt]] = {
    "scheduler": SCHEDULER,
    "notifications": NOTIFICATIONS,
    "nova": NOVA,
    "neutron": NEUTRON,
}


def rpc_options(conf: cfg.ConfigOpts) -> RpcOptions:
    """All of the above as one value."""
    found = {opt.dest: conf[opt.dest] for opt in DEFAULT}
    for group in GROUPS:
        found |= conf[group]
    return values_of(found, RpcOptions, host=conf.host or socket.gethostname())


def has_nova_databases(conf: cfg.ConfigOpts) -> bool:
    """Whether the files say where Nova's API database is."""
    conf.register_opt(cfg.StrOpt("connection", secret=True), "api_database")
    return bool(conf.api_database.connection)
