"""Options of the scheduler that no file of options gave: those of a what-if, and those
in the record of a service.

What oslo.config checks while it reads a gantt.conf is checked here of values that have
types already: type, range and choices are those of the same option. Separate from
``scheduling`` because text is not parsed here, but refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from oslo_config import cfg, types

from gantt.conf.option_table import rows
from gantt.conf.scheduler_settings import ALIAS_KEYS, fields
from gantt.errors import Invalid
from gantt.scheduler.options import SchedulerOptions

_OURS: Final = SchedulerOptions()
# What no file sets: constants, which a what-if may change.
_CONSTANTS: Final = tuple(
    rows(
        _OURS,
        dict.fromkeys(
            (
                "choices 1",
                "claim_attempts 1",
                "lease_skew_s 0..3600",
                "placement_lease_s 0.1..86400",
                "report_age_s 0..86400",
            ),
            "",
        ),
    )
)
_KNOWN: Final[Mapping[str, tuple[str, cfg.Opt]]] = {
    **{one.dest: ("", one) for one in _CONSTANTS},
    **{name: (group, opt) for name, group, opt in fields()},
}
_PAIRS: Final = frozenset({"image_props_weight_setting", "metrics_weight_setting"})


def check_values(given: Mapping[str, Any], where: str) -> None:
    """Raises Invalid for values of fields of SchedulerOptions, or factors of weighers,
    that a file of options could not have; what is no option is passed over. ``where``:
    what gave them; "": the caller says it."""
    factors = given.get("multipliers", {})
    if not isinstance(factors, dict):
        _require("multipliers", factors, where, False, "a table: weigher = factor", "")
    for name, value in given.items():
        if name in _KNOWN:
            _check(name, value, where)
    for name, value in factors.items():
        at = f"multipliers.{name}"
        _require(at, value, where, _is_finite(value), "a finite number", "")


def _check(name: str, value: Any, where: str) -> None:
    group, opt = _KNOWN[name]
    of = f"{opt.name} of [{group}]" if group else ""
    if value is None and getattr(_OURS, name, opt) is None:
        return
    if name in _PAIRS:
        is_right = isinstance(value, dict) and all(map(_is_finite, value.values()))
        _require(name, value, where, is_right, "a table: name = finite number", of)
    elif name == "pci_alias":
        keys = ", ".join(sorted(ALIAS_KEYS - {"name"}))
        allowed = f"a list of tables, each with a name, and with {keys} alone"
        _require(name, value, where, _is_aliases(value), allowed, of)
    else:
        is_right, allowed = _judged(name, opt.type, value)
        _require(name, value, where, is_right, allowed, of)


def _require(
    name: str, value: Any, where: str, is_right: bool, allowed: str, of: str
) -> None:
    if not is_right:
        by = f", which {of} does not allow: it" if of else ": it"
        begin = f"{where}: " if where else ""
        raise Invalid(f"{begin}options.{name} is {value!r}{by} must be {allowed}.")


def _judged(name: str, kind: Any, value: Any) -> tuple[bool, str]:
    """Whether it is right, and what would be, in words."""
    usual = getattr(_OURS, name, 0.0)
    if isinstance(kind, types.Boolean):
        return isinstance(value, bool), "true or false"
    if isinstance(kind, types.Integer):
        # A field may be a float where a file has seconds as whole numbers.
        is_whole = isinstance(value, int) or isinstance(usual, float)
        is_right = _is_finite(value) and is_whole and value == int(value)
        return is_right and _is_within(kind, value), "a whole number" + _range(kind)
    if isinstance(kind, types.Float):
        is_right = _is_finite(value) and _is_within(kind, value)
        return is_right, "a finite number" + _range(kind)
    if isinstance(usual, tuple):
        is_list = isinstance(value, list | tuple)
        is_right = is_list and all(isinstance(one, str) for one in value)
        return is_right, "a list of texts"
    if kind.choices:
        return value in list(kind.choices), f"one of {', '.join(kind.choices)}"
    return isinstance(value, str), "text"


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_within(kind: types.Number, value: float) -> bool:
    return (kind.min is None or value >= kind.min) and (
        kind.max is None or value <= kind.max
    )


def _range(kind: types.Number) -> str:
    if kind.min is None:
        return ""
    if kind.max is None:
        return f" of at least {kind.min:.15g}"
    return f" from {kind.min:.15g} to {kind.max:.15g}"


def _is_aliases(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and one["name"]
        and one.keys() <= ALIAS_KEYS
        for one in value
    )
