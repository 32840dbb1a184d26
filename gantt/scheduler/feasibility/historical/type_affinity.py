"""Require hosts where every instance has the requested flavor.

Nova's filter for hosts of one kind of instance. It reads the facts that hosts give with
their instances, so it looks at hosts one by one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from msgspec import Struct, json

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class _Facts(Struct):
    """What of an instance's facts counts here."""

    flavorid: Any = None


_FACTS: Final = json.Decoder(_Facts)


class TypeAffinityFilter(Filter):
    """Every instance on the host has the same ``flavorid``; one of an unknown
    flavor has another. For pending claims the amounts must be equal."""

    cacheable = Cacheable(
        needs=("id", "instances", "claims"),
        reads=(
            "flavor.flavorid",
            "flavor.vcpus",
            "flavor.memory_mb",
            "flavor.root_gb",
            "flavor.ephemeral_gb",
            "is_bfv",
        ),
        elementwise=True,
    )
    is_costly = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        spec = request.spec
        found = np.ones(len(hosts), np.bool_)
        for place in range(len(hosts)):
            known = hosts.known_instances(place)
            for row in known.values():
                if _FACTS.decode(row.facts).flavorid != spec.flavor.flavorid:
                    found[place] = False
                    break
            else:
                found[place] = _claims_agree(hosts, place, spec)
        return found


def _claims_agree(hosts: Hosts, place: int, spec: RequestSpec) -> bool:
    wanted = (spec.flavor.vcpus, spec.flavor.memory_mb, spec.disk_mb)
    claims = hosts.fleet.claims
    promised = claims.on(int(hosts.id[place]))
    rows = (claims.by_instance[uuid] for uuid in promised)
    return all((row.vcpus, row.memory_mb, row.disk_mb) == wanted for row in rows)
