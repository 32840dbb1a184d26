"""Authentication with other services: the keystoneauth options of ``[placement]`` and
``[neutron]``.

Separate from our own options because another library defines and reads these, and only
if such a service is asked: the groups are as in a ``nova.conf``.
"""

from __future__ import annotations

import math
from typing import Any, Final

from oslo_config import cfg

from gantt.conf.values import Settings
from gantt.errors import Refused, how_to_install

_ROUTED: Final = "query_placement_for_routed_network_aggregates"


def placement_session(settings: Settings) -> Any:
    """A keystoneauth adapter configured by ``[placement]``, not yet authenticated;
    None: auth_type is unset, or no remote Placement is used. Raises Refused."""
    if settings.engine.scheduler.placement == "embedded":
        return None
    return _adapter(settings.oslo, "placement", "placement")


def neutron_session(settings: Settings) -> Any:
    """A keystoneauth adapter configured by ``[neutron]``, not yet authenticated; None:
    nothing is asked of Neutron. Raises Refused."""
    if not settings.engine.scheduler.query_placement_for_routed_network_aggregates:
        return None
    limit_s = math.ceil(settings.rpc.neutron_timeout_s)
    found = _adapter(settings.oslo, "neutron", "network", limit_s)
    if found is None:
        raise Refused(
            f"{_ROUTED} of [scheduler] is set, but [neutron] does not say how to sign "
            "in: set auth_type and its options there, or switch the option off."
        )
    return found


def _adapter(
    conf: cfg.ConfigOpts, group: str, service: str, timeout_s: int | None = None
) -> Any:
    """``timeout_s``: for each wait, of Keystone too, unless the group says another.
    None: it has no auth_type. Raises Refused."""
    try:
        from keystoneauth1 import exceptions, loading
    except ImportError:
        conf.register_opts([cfg.StrOpt("auth_type")], group)
        if conf[group].auth_type is None:
            return None
        raise Refused(
            f"auth_type is set in [{group}], but keystoneauth1 is not installed: "
            f"{how_to_install('openstack')}."
        ) from None
    loading.register_session_conf_options(conf, group)
    loading.register_auth_conf_options(conf, group)
    loading.register_adapter_conf_options(conf, group)
    conf.set_default("service_type", service, group)
    conf.set_default("valid_interfaces", ["internal", "public"], group)
    conf.set_default("timeout", timeout_s, group)
    try:
        auth = loading.load_auth_from_conf_options(conf, group)
        if auth is None:
            return None
        session = loading.load_session_from_conf_options(conf, group, auth=auth)
        return loading.load_adapter_from_conf_options(
            conf, group, session=session, auth=auth
        )
    except (cfg.Error, exceptions.ClientException, ValueError) as error:
        raise Refused(f"[{group}] cannot be used to authenticate: {error}") from error
