"""Says no to what cells of memory and CPUs would have to be fitted for.

Which cell of a host would take what is not worked out yet. Where an operator enables
the filter, letting such a request through would promise what nobody looked at.
"""

from __future__ import annotations

import numpy as np

from gantt import errors
from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

SETTINGS = ("hw:numa_nodes", "hw:mem_page_size", "hw:pmem")
POLICY = "hw:cpu_policy"
PINNING = frozenset({"dedicated", "mixed"})


class NUMATopologyFilter(Filter):
    """A request that no topology comes of passes everywhere. Raises Invalid for
    others, with what asks for one."""

    reads = ("numa_topology", "flavor.extra_specs", "image.properties")

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked = _asked(request.spec)
        if asked is not None:
            raise errors.Invalid(
                f"The request asks for a NUMA topology ({asked}) and "
                "NUMATopologyFilter is enabled, but fitting cells and CPUs exactly "
                "comes with a later release. Take NUMATopologyFilter out of "
                "enabled_filters to let amounts alone decide."
            )
        return np.ones(len(hosts), np.bool_)


def _asked(spec: RequestSpec) -> str | None:
    """What of ``spec`` asks for a topology; None: nothing does."""
    if spec.numa_topology is not None:
        return "numa_topology"
    extra_specs = spec.flavor.extra_specs
    properties = {} if spec.image is None else spec.image.properties
    for name in (*SETTINGS, POLICY):
        image_name = name.replace(":", "_")
        for key, value in (
            (name, extra_specs.get(name)),
            (image_name, properties.get(image_name)),
        ):
            if value and (name != POLICY or value in PINNING):
                return f"{key}={value}"
    # Pinned CPUs by their amount are pinned CPUs.
    for key, value in extra_specs.items():
        if key.startswith("resources") and key.endswith(":PCPU") and value != "0":
            return f"{key}={value}"
    return None
