"""The message bus of a cloud, as its ``nova.conf`` describes it.

The library registers its options in the ConfigOpts that it is given, never in the
global one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging import get_rpc_transport

from gantt.conf import guests
from gantt.errors import Refused
from gantt.model.addresses import without_secrets

# What Nova sets as the default of control_exchange.
EXCHANGE: Final = "nova"
# The library registers these in the global ConfigOpts only, but reads them in this one.
_UNREGISTERED: Final = {
    "oslo_messaging_tracing": "tracing_enabled",
    "oslo_messaging_metrics": "metrics_enabled",
}


def open_transport(
    conf: cfg.ConfigOpts, get: Callable[[cfg.ConfigOpts], Any] = get_rpc_transport
) -> Any:
    """The transport that ``transport_url`` names, with which nothing is connected yet.
    ``get``: the library's function for RPC, or that for notifications. Raises
    Refused."""
    url = ""
    try:
        where = messaging.TransportURL.parse(conf)
        url = str(where)
        conf.set_default("control_exchange", EXCHANGE)
        for group, switch in _UNREGISTERED.items():
            conf.register_opt(cfg.BoolOpt(switch), group)
            conf.set_override(switch, False, group)
        found = get(conf)
    except (messaging.MessagingException, cfg.Error, ValueError) as error:
        shown = without_secrets(url) or "of the configuration"
        # A ValueError quotes what it took for a port: it may be part of a password.
        why = "it is not a URL" if isinstance(error, ValueError) else error
        raise Refused(f"transport_url {shown} cannot be used: {why}.") from error
    _check_locks(conf)
    return found


def _check_locks(conf: cfg.ConfigOpts) -> None:
    """The library's queue manager locks by the options that all libraries share
    (``conf.guests``). Raises Refused."""
    if "oslo_messaging_rabbit" not in conf:
        return
    if not conf.oslo_messaging_rabbit.use_queue_manager:
        return
    shared = cfg.CONF.oslo_concurrency
    place = "[oslo_concurrency] lock_path"
    lock_path = guests.value_of(place, lambda: shared.lock_path)
    if not (lock_path or shared.disable_process_locking):
        raise Refused(
            "[oslo_messaging_rabbit] use_queue_manager is on, and lock_path in "
            "[oslo_concurrency] is not set: name a directory there that this user may "
            "write, such as /var/lib/nova/tmp."
        )
