"""Match extra specs of flavors with what hosts report."""

from __future__ import annotations

from typing import Any

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import host_attributes
from gantt.scheduler.feasibility.host_attributes import ATTRIBUTES
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request import extra_specs
from gantt.scheduler.request.extra_specs import Matcher
from gantt.state.column import Bools

SCOPE = "capabilities"
BITS = "hw:maxphysaddr_bits"
BITS_PATH = ("cpu_info", "maxphysaddr", "bits")


class ComputeCapabilitiesFilter(Filter):
    """Every extra spec about hosts matches what the host reports.

    Those are: ``capabilities:a:b``, where ``a`` is an attribute of the host or a key of
    its ``stats`` and ``b`` a key within; names without a colon, on hosts that have such
    an attribute or key; and ``hw:maxphysaddr_bits``. A host that lacks one fails.
    Raises Invalid, as ``extra_specs.matcher`` does.
    """

    cacheable = Cacheable(
        needs=(
            *sorted(
                {*host_attributes.COLUMNS.values(), *host_attributes.RATIOS.values()}
            ),
            *(f"factor:{name}" for name in sorted(host_attributes.REPORTED)),
            "factor:local_gb_used",
        ),
        reads=("flavor.extra_specs",),
        elementwise=True,
    )
    once = True

    def is_neutral(self, request: Request) -> bool:
        return not any(
            ":" not in key or key == BITS or key.startswith(SCOPE + ":")
            for key in request.spec.flavor.extra_specs
        )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask = np.ones(len(hosts), np.bool_)
        asked = request.spec.flavor.extra_specs
        bits_key = ":".join((SCOPE, *BITS_PATH))
        for key, requirement in asked.items():
            path: tuple[str, ...]
            if key == BITS:
                path, requirement = BITS_PATH, f">= {requirement}"
            elif key == bits_key and BITS in asked:
                continue
            elif ":" not in key:
                path = (key,)
            elif key.startswith(SCOPE + ":"):
                path = tuple(key.split(":")[1:])
            else:
                continue
            matches = extra_specs.matcher(key, requirement)
            if not mask.any():
                continue  # no host is left; an invalid value is still reported
            passing = _matching(hosts, path, matches)
            if ":" not in key and key not in ATTRIBUTES:
                # Hosts that do not report the name pass.
                passing |= hosts.reported("stats", key)[0] == 0
            mask &= passing
        return mask


def _matching(hosts: Hosts, path: tuple[str, ...], matches: Matcher) -> Bools:
    """bool[n]: whose value at ``path`` matches, as text."""

    def passes(value: Any) -> bool:
        return value is not None and matches(str(value))

    if path[0] not in ATTRIBUTES:
        return hosts.judge(*hosts.reported("stats", *path), passes)
    found = host_attributes.attribute(hosts, path)
    mask = hosts.judge(found.codes, found.values, passes)
    if path[0] not in host_attributes.ALWAYS:
        # What is no attribute of this host may be a key of its stats still.
        is_unset = host_attributes.attribute(hosts, path[:1]).is_none()
        if is_unset.any():
            mask |= is_unset & hosts.judge(*hosts.reported("stats", *path), passes)
    return mask
