"""The differences from Nova that docs/deviations.md knows, each proved before it is
allowed: it goes away when its cause does.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from gantt.model.spec import RequestSpec

UNREADABLE = "a host that cannot be judged fails (Nova: the request)"
UNREAD = "a request that cannot be read is refused before any host is looked at"
TEXT_OF_CPU = "cpu_info that is text"
PREFIX = "a prefix without its slash"
COUNTS_NOTHING = "a metric that is missing for a weigher that counts nothing"

NUMERIC = frozenset(("=", "==", "!=", ">=", "<="))


def readable(spec: RequestSpec) -> RequestSpec:
    """``spec`` without the extra specs that compare with something that is no
    number."""
    kept = {
        key: requirement
        for key, requirement in spec.flavor.extra_specs.items()
        if not _compares_with_text(key, requirement)
    }
    return replace(spec, flavor=replace(spec.flavor, extra_specs=kept))


def _compares_with_text(key: str, requirement: str) -> bool:
    if key == "hw:maxphysaddr_bits":
        requirement = f">= {requirement}"
    words = requirement.split()
    if len(words) < 2 or words[0] not in NUMERIC:
        return False
    try:
        float(words[1])
    except ValueError:
        return True
    return False


def with_slash(spec: RequestSpec) -> RequestSpec:
    """``spec`` with the prefix of its network as it is meant."""
    hints = spec.scheduler_hints
    (prefix,) = hints.get("cidr", ("/24",))
    if prefix.startswith("/"):
        return spec
    return replace(spec, scheduler_hints={**hints, "cidr": (f"/{prefix}",)})


def is_cpu_text(error: Exception) -> bool:
    """Whether a filter took the text of cpu_info for the object."""
    return isinstance(error, AttributeError) and "has no attribute 'get'" in str(error)


def read_cpu(state: Any) -> Any:
    """The HostState with the object that the filter expects."""
    if not isinstance(state.cpu_info, dict):
        state.cpu_info = json.loads(state.cpu_info or "{}")
    return state


def is_unreadable(error: Exception) -> bool:
    """Whether Nova failed on comparing what cannot be compared."""
    return isinstance(error, TypeError | ValueError | IndexError)
