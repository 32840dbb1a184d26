"""The fleet of the Alibaba/Tianchi contest of 2018: instances of apps, and how many of
an app may be on one machine.

The contest's demands per app are not part of the data that is used here; they are drawn
from the seed, the same for all instances of an app. Of the rules, those of an app with
itself are groups with a limit per host; those between two apps have no counterpart in
Nova's server groups, and are counted in ``left_out``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.placement.group_rules import ANTI_AFFINITY
from gantt.replay.events import Arrival, Skipped
from gantt.replay.machines import Machine, uuid_of
from gantt.replay.readers.csv_lines import rows, whole

_GAP_US: Final = 1_000
_SIZES: Final = ((500, 1), (1000, 2), (2000, 4), (4000, 8))
"""Thousandths of a CPU, and units of memory, of a drawn app."""


class Tianchi:
    """``part``: "a" or "e". ``skipped``: what could not be read."""

    def __init__(self, folder: Path, part: str = "a", seed: int = 0) -> None:
        self.skipped: list[Skipped] = []
        self.left_out = 0
        self._folder, self._part, self._seed = folder, part, seed

    def machines(self) -> tuple[Machine, ...]:
        """CPUs in thousandths (VCPU), memory as it is given, disk in GB. Raises
        Invalid."""
        found = []
        file = f"machine_resources.{self._part}.csv.xz"
        for line, fields in rows(self._folder / file):
            try:
                name, cpu, memory, disk = fields[:4]
                inventories = {
                    "VCPU": Inventory(whole(cpu, 1000)),
                    "MEMORY_MB": Inventory(whole(memory)),
                    "DISK_GB": Inventory(whole(disk)),
                }
            except ValueError as error:
                self.skipped.append(Skipped(file, line, "machine", str(error)))
            else:
                found.append(Machine(name, inventories))
        return tuple(found)

    def arrivals(self) -> Iterator[Arrival]:
        """All instances, in the order of the file, none of which goes. Raises
        Invalid."""
        limits, drawn = self._limits(), dict[str, Flavor]()
        dice = random.Random(self._seed)  # noqa: S311 - to be repeated
        file = f"instance_deploy.{self._part}.csv.xz"
        for line, fields in rows(self._folder / file):
            if len(fields) < 2:
                self.skipped.append(Skipped(file, line, "line", "no app"))
                continue
            name, app = fields[:2]
            if app not in drawn:
                cpu, memory = dice.choice(_SIZES)
                drawn[app] = Flavor(cpu, memory, name=app)
            group = None
            if app in limits:
                group = InstanceGroup(uuid_of("app", app), ANTI_AFFINITY, limits[app])
            spec = RequestSpec(drawn[app], instance_group=group)
            yield Arrival(line * _GAP_US, (name,), spec, (None,))

    def _limits(self) -> dict[str, int]:
        """App -> how many of it one machine may have."""
        found: dict[str, int] = {}
        self.left_out = 0
        file = "app_interference.csv.xz"
        for line, fields in rows(self._folder / file):
            try:
                one, other, most = fields
                number = whole(most)
            except ValueError as error:
                self.skipped.append(Skipped(file, line, "rule", str(error)))
                continue
            if one == other:
                found[one] = number + 1
            else:
                self.left_out += 1
        return found
