"""All options: how they are read, their names, and the values they become.

Groups and names are those of OpenStack Placement and Nova, whose files can be used
unchanged. Nothing here is global: an entry point loads a ``Settings`` and passes frozen
values down.
"""

from gantt.conf.feed_settings import FeedOptions, feed_options
from gantt.conf.guests import check as check_guests
from gantt.conf.options import GANTT, list_opts
from gantt.conf.references import add_references
from gantt.conf.rpc import has_nova_databases
from gantt.conf.service_sessions import neutron_session, placement_session
from gantt.conf.setting_sources import (
    ConfigSource,
    engine_options,
    load,
    policy_options,
)
from gantt.conf.suspect_values import check_written
from gantt.conf.values import (
    AUTH_STRATEGIES,
    SYSTEM_DIRECTORY,
    ApiOptions,
    AuthOptions,
    LogOptions,
    Mutable,
    RpcOptions,
    ServeOptions,
    Settings,
    TracingOptions,
)

__all__ = [
    "AUTH_STRATEGIES",
    "GANTT",
    "SYSTEM_DIRECTORY",
    "ApiOptions",
    "AuthOptions",
    "ConfigSource",
    "FeedOptions",
    "LogOptions",
    "Mutable",
    "RpcOptions",
    "ServeOptions",
    "Settings",
    "TracingOptions",
    "add_references",
    "check_guests",
    "check_written",
    "engine_options",
    "feed_options",
    "has_nova_databases",
    "list_opts",
    "load",
    "neutron_session",
    "placement_session",
    "policy_options",
]
