"""Authentication with a remote Placement: the keystoneauth options of ``[placement]``.

Separate from our own options because another library defines and reads these, and only
if ``[scheduler] placement`` is not embedded: the group is as in a ``nova.conf``.
"""

from __future__ import annotations

from typing import Any, Final

from oslo_config import cfg

from gantt.conf.values import Settings
from gantt.errors import Refused

_GROUP: Final = "placement"
_INSTALL: Final = "pip install 'gantt-scheduler[openstack]'"


def placement_session(settings: Settings) -> Any:
    """A keystoneauth adapter configured by ``[placement]``, not yet authenticated;
    None: auth_type is unset, or no remote Placement is used. Raises Refused."""
    if settings.engine.scheduler.placement == "embedded":
        return None
    conf: cfg.ConfigOpts = settings.oslo
    try:
        from keystoneauth1 import exceptions, loading
    except ImportError:
        conf.register_opts([cfg.StrOpt("auth_type")], _GROUP)
        if conf[_GROUP].auth_type is None:
            return None
        raise Refused(
            f"auth_type is set in [{_GROUP}], but keystoneauth1 is not installed: "
            f"{_INSTALL}."
        ) from None
    loading.register_session_conf_options(conf, _GROUP)
    loading.register_auth_conf_options(conf, _GROUP)
    loading.register_adapter_conf_options(conf, _GROUP)
    conf.set_default("service_type", "placement", _GROUP)
    conf.set_default("valid_interfaces", ["internal", "public"], _GROUP)
    try:
        auth = loading.load_auth_from_conf_options(conf, _GROUP)
        if auth is None:
            return None
        session = loading.load_session_from_conf_options(conf, _GROUP, auth=auth)
        return loading.load_adapter_from_conf_options(
            conf, _GROUP, session=session, auth=auth
        )
    except (cfg.Error, exceptions.ClientException, ValueError) as error:
        raise Refused(f"[{_GROUP}] cannot be used to authenticate: {error}") from error
