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

# "NAME LEAST..[MOST]": help.
_AMOUNTS = {
    "timeout 0.01..1": "Seconds that one call may take, with DNS and connecting.",
    "request_delay_limit 0.01..1": "Seconds that all calls for one request may take "
    "together, whatever number of instances it has. The rest goes without advice.",
    "breaker_failures 1..": "After so many failures in a row Gantt is not asked for a "
    "time.",
    "breaker_seconds 0..": "That time, in seconds; one request then tries whether "
    "Gantt answers.",
    "answer_size_limit 1024..": "Bytes of an answer above which it counts as a "
    "failure.",
    "weight_multiplier 0..": "Weight of Gantt's order, ranks from 0 to 1, beside other "
    "weighers. The default leaves them no say; a small one makes Gantt one voice of "
    "several.",
}


def _amount(row: str, text: str) -> cfg.Opt:
    name, _, bounds = row.partition(" ")
    default = _DEFAULTS[name]
    number = type(default)
    least, _, most = bounds.partition("..")
    return (cfg.IntOpt if number is int else cfg.FloatOpt)(
        name,
        default=default,
        min=number(least),
        max=number(most) if most else None,
        mutable=True,
        help=text,
    )


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
    *(_amount(row, text) for row, text in _AMOUNTS.items()),
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
