"""Small fleets and traces for the tests of replays."""

from __future__ import annotations

from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.placement.group_rules import ANTI_AFFINITY
from gantt.replay.events import Arrival
from gantt.replay.machines import Machine, uuid_of
from gantt.replay.run import Decided, Replay, ReplaySettings


def machines(count: int, vcpus: int = 4, memory_mb: int = 8192) -> tuple[Machine, ...]:
    """Hosts that are alike."""
    inventories = {"VCPU": Inventory(vcpus), "MEMORY_MB": Inventory(memory_mb)}
    return tuple(Machine(f"h{number}", inventories) for number in range(count))


def arrival(
    at_s: float,
    *names: str,
    vcpus: int = 1,
    memory_mb: int = 1024,
    until_s: float | None = None,
    group: str | None = None,
) -> Arrival:
    """A request at a second of the trace. ``group``: its members keep apart."""
    members = None
    if group is not None:
        members = InstanceGroup(uuid_of("group", group), ANTI_AFFINITY, 1)
    spec = RequestSpec(Flavor(vcpus, memory_mb), instance_group=members)
    until = None if until_s is None else int(until_s * 1_000_000)
    return Arrival(int(at_s * 1_000_000), names, spec, (until,) * len(names))


def replayed(
    fleet: tuple[Machine, ...],
    *arrivals: Arrival,
    settings: ReplaySettings | None = None,
) -> tuple[Replay, list[Decided]]:
    """The replay at its end, and its decisions."""
    replay = Replay(fleet, settings or ReplaySettings())
    return replay, list(replay.run(arrivals))
