"""What a map of the fleet shows: hosts as columns, what changed since, and one host.

Separate from ``Fleet`` because it tells two States of this process apart: stamps of
one say nothing about another, as after a reload, nor about those of other processes.
"""

from __future__ import annotations

import re
from typing import Final

from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.errors import Invalid
from gantt.model.fleet_map import FleetMap
from gantt.model.whole_host import WholeHost
from gantt.placement.host_details import whole_host
from gantt.placement.map_columns import MapTerms, fleet_map

_PLACE: Final = re.compile(r"([0-9a-f]+\.\d{1,18})-(\d{1,18})-(\d{1,18})\Z", re.ASCII)


class FleetMapMethods(StateMethods):
    """``fleet_map`` and ``whole_host`` of the engine. ``name``: unlike that of
    any other process, in hexadecimal."""

    def __init__(self, state: StateAccess, replica: Replica, name: str) -> None:
        super().__init__(state)
        self._replica = replica
        self._name = name

    def fleet_map(self, after: str | None = None) -> FleetMap:
        """See the protocol. Raises Invalid, StoreFailed."""
        options = self._checks.options
        # Before the columns are read: if they are replaced meanwhile, the next answer
        # is of all hosts again.
        epoch = f"{self._name}.{self._replica.epoch}"
        terms = MapTerms(
            self._clock.now(),
            int(options.service_down_time * 1_000_000),
            options.default_availability_zone,
            None if after is None else _read(after, epoch),
        )
        if terms.after is not None:
            return self._reader.read(fleet_map, terms, epoch)
        return self._reader.survey(
            lambda state, rest: fleet_map(state, terms, epoch, rest)
        )

    def whole_host(self, host: str, node: str | None = None) -> WholeHost:
        """See the protocol. Raises NotFound, StoreFailed."""
        node = host if node is None else node
        return self._reader.read(whole_host, host, node, self._clock.now())


def _read(after: str, epoch: str) -> tuple[int, int] | None:
    """The stamp and time in ``after``; None: they are of other columns."""
    found = _PLACE.match(after)
    if found is None:
        raise Invalid(
            f"after is {after[:80]!r}; it must be the place of an earlier answer. Omit "
            "it to get all hosts."
        )
    return (int(found[2]), int(found[3])) if found[1] == epoch else None
