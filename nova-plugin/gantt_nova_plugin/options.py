"""The options of `[gantt]`, on the scheduler's own configuration.

They come from its files, `nova.conf` or `cinder.conf`, or from the environment, where
oslo.config calls the option `url` of this group `OS_GANTT__URL`.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.settings import MODES, InvalidSettings, Settings
from gantt_nova_plugin.wire import Form

GROUP = "gantt"
_DEFAULTS = Settings._field_defaults

OPTIONS = [
    cfg.StrOpt(
        "url",
        mutable=True,
        help="Where Gantt listens: http[s]://HOST[:PORT][/PATH]. Without it, Gantt is "
        "not asked.",
    ),
    cfg.StrOpt(
        "mode",
        default=_DEFAULTS["mode"],
        choices=MODES,
        mutable=True,
        help="observe: Gantt hears of each request, nothing changes. advise: its order "
        "counts. decide: hosts that it refuses are removed as well.",
    ),
    cfg.StrOpt(
        "token",
        secret=True,
        mutable=True,
        help="Sent as X-Auth-Token, where Gantt asks for one.",
    ),
    cfg.StrOpt(
        "cafile",
        help="Certificates that Gantt's own is checked against, for an https URL; "
        "without it, those of the system.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=_DEFAULTS["timeout"],
        min=0.01,
        max=1.0,
        mutable=True,
        help="Seconds that one call may take, with DNS and connecting.",
    ),
    cfg.FloatOpt(
        "request_delay_limit",
        default=_DEFAULTS["request_delay_limit"],
        min=0.01,
        max=1.0,
        mutable=True,
        help="Seconds that all calls for one request may take together, whatever "
        "number of instances it has. The rest goes without advice.",
    ),
    cfg.IntOpt(
        "breaker_failures",
        default=_DEFAULTS["breaker_failures"],
        min=1,
        mutable=True,
        help="After so many failures in a row Gantt is not asked for a time.",
    ),
    cfg.FloatOpt(
        "breaker_seconds",
        default=_DEFAULTS["breaker_seconds"],
        min=0.0,
        mutable=True,
        help="That time, in seconds; one request then tries whether Gantt answers.",
    ),
    cfg.IntOpt(
        "answer_size_limit",
        default=_DEFAULTS["answer_size_limit"],
        min=1024,
        mutable=True,
        help="Bytes of an answer above which it counts as a failure.",
    ),
    cfg.FloatOpt(
        "weight_multiplier",
        default=_DEFAULTS["weight_multiplier"],
        min=0.0,
        mutable=True,
        help="Weight of Gantt's order, ranks from 0 to 1, beside other weighers. The "
        "default leaves them no say; a small one makes Gantt one voice of several.",
    ),
]


def advisor(form: Form) -> Advisor:
    """The advisor of this process, told by the scheduler's own configuration."""
    cfg.CONF.register_opts(OPTIONS, group=GROUP)
    return Advisor(form, read)


def read() -> Settings:
    """The values that hold now; `InvalidSettings` if one cannot be read."""
    try:
        group = cfg.CONF[GROUP]
        values: dict[str, Any] = {name: group[name] for name in Settings._fields}
    except (cfg.Error, ValueError) as error:
        raise InvalidSettings(str(error)) from error
    if not values["url"]:
        raise InvalidSettings("url is not set")
    return Settings(**values)
