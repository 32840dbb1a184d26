"""Request groups in the extra specs of a flavor: resources, traits, group policy.

Separate from the settings that flavors and images share because these are terms of
Placement. Nova skips invalid ones with a warning in a log; here the request is refused
with the key, because it would not get what its flavor specifies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gantt.errors import Invalid
from gantt.scheduler.request.demand import Demand

_KEY: Final = re.compile(r"\A(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)\Z", re.DOTALL)
_AMOUNT: Final = re.compile(r"\A\s*\+?[0-9]{1,18}\s*\Z", re.ASCII)
_POLICIES: Final = {"none": False, "isolate": True}


def take_in(extra_specs: Mapping[str, str], demand: Demand) -> None:
    """Add the groups of a flavor's extra specs. Raises Invalid, with the key."""
    for key, value in extra_specs.items():
        # Most keys are others: cheap checks come first.
        if key == "group_policy":
            demand.isolate = _policy(value)
        elif key.startswith(("resources", "trait")):
            found = parsed(key)
            if found is None:
                continue
            prefix, suffix, name = found
            part = demand.part(suffix)
            if prefix == "resources":
                part.amounts[name] = _amount(key, value)
            elif _is_required(key, value):
                part.required.add(name)
            else:
                part.forbidden.add(name)


def parsed(key: str) -> tuple[str, str, str] | None:
    """("resources" or "trait", suffix, name); None: the key is about something else."""
    found = _KEY.match(key) if key.startswith(("resources", "trait")) else None
    return None if found is None else (found[1], found[2] or "", found[3])


def _amount(key: str, value: object) -> int:
    if not _AMOUNT.match(str(value)):
        raise Invalid(
            f"extra spec {key}={value!r} is not an amount: give a whole number, "
            "0 or more"
        )
    return int(str(value))


def _is_required(key: str, value: str) -> bool:
    if value not in ("required", "forbidden"):
        raise Invalid(
            f"extra spec {key}={value!r} says nothing about a trait: give required "
            "or forbidden"
        )
    return value == "required"


def _policy(value: str) -> bool:
    if value not in _POLICIES:
        raise Invalid(f"extra spec group_policy={value!r}: give none or isolate")
    return _POLICIES[value]
