"""A State that random commands go through, as the committer would have it: planned,
then applied. For tests of what decides on a State that moves. What decides or plans
finds no array of it that it could write."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gantt.engine.factory import standard_names
from gantt.errors import GanttError, NoValidHost
from gantt.model import commands as c
from gantt.model.changes import Cursor
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    RequestSpec,
    ScheduleRequest,
)
from gantt.placement.rules import plan
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility.candidate_sources import (
    BOOK_SOURCE,
    REPORT_SOURCE,
    CandidateSource,
)
from gantt.scheduler.selection.picks import InstancePicks
from gantt.state.state import State
from tests.idle_host import idle

T0 = 1_700_000_000_000_000
TRAITS = ("CUSTOM_A", "CUSTOM_B")
SHARES = "MISC_SHARES_VIA_AGGREGATE"
POOL = "00000000-0000-4000-9000-000000000000"
GROUPS = ("anti-affinity", "affinity", "soft-affinity", "soft-anti-affinity")


def uuid_of(number: int) -> str:
    """The ``number``-th uuid."""
    return f"{number:08x}-0000-4000-8000-000000000000"


@contextlib.contextmanager
def unwritten(state: State) -> Iterator[None]:
    """What writes to a column of the State meanwhile fails."""
    columns = [one for one in _arrays(state, set()) if one.flags.writeable]
    columns.sort(key=lambda one: one.base is not None)  # a part needs its whole
    for one in columns:
        one.flags.writeable = False
    try:
        yield
    finally:
        for one in columns:
            one.flags.writeable = True


def _arrays(found: Any, seen: set[int]) -> Iterator[np.ndarray]:
    """Those of a table, and of the tables that it has."""
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, dict | list):
        within = found.values() if isinstance(found, dict) else found
        for first in itertools.islice(within, 1):
            if type(first).__module__.partition(".")[0] in ("gantt", "numpy"):
                for one in within:
                    yield from _arrays(one, seen)
    elif type(found).__module__.startswith("gantt.state") and id(found) not in seen:
        seen.add(id(found))
        slots = (vars(kind).get("__slots__", ()) for kind in type(found).__mro__)
        for name in {*itertools.chain(*slots), *getattr(found, "__dict__", ())}:
            yield from _arrays(getattr(found, name, None), seen)


class Desk:
    """``submit`` does at once what the committer does in a batch."""

    def __init__(self, seed: int) -> None:
        self.state = State()
        self.now = T0
        self.rng = random.Random(seed)
        self._uuids = 0
        self.instances: list[str] = []
        self.submit(standard_names())

    def new_uuid(self) -> str:
        self._uuids += 1
        return uuid_of(self._uuids)

    def submit(self, command: c.Command[object]) -> Any:
        self.now += 1000
        with unwritten(self.state):
            planned = plan(self.state, command, self.now)
        if planned.changes:
            cursor = Cursor(self.state.revision + 1, "desk")
            self.state.apply(planned.changes, cursor)
        return planned.answer

    def try_to(self, command: c.Command[object]) -> None:
        """As ``submit``; a refusal is as good."""
        with contextlib.suppress(GanttError):
            self.submit(command)

    # -- a fleet and what happens to it -------------------------------------------

    def add_hosts(self, count: int) -> None:
        for number in range(count):
            self.report(f"h{number}", whole=True)

    def report(self, host: str, *, whole: bool = False) -> None:
        rng = self.rng
        memory, vcpus = rng.choice((8192, 16384)), rng.choice((4, 8))
        if not whole:
            failed = str(rng.choice((0, 0, 1)))
            stats = HostStats(stats={"failed_builds": failed, "num_instances": "1"})
            self.try_to(c.UpdateHost(host, host, stats, self.new_uuid()))
            return
        stats = idle(
            vcpus,
            memory,
            hypervisor_type="QEMU",
            hypervisor_version=8002000,
            hypervisor_hostname=host,
            cpu_info={},
            supported_instances=[["x86_64", "kvm", "hvm"]],
            stats={"num_instances": "0", "io_workload": "0", "failed_builds": "0"},
            cpu_allocation_ratio=rng.choice((None, 2.0)),
        )
        self.submit(c.UpdateHost(host, host, stats, self.new_uuid()))

    def stir(self) -> None:
        """Something happens to the fleet."""
        rng, hosts = self.rng, self.state.fleet.hosts
        live = [hosts.hosts[row] for row in hosts.live_rows().tolist()]
        host = rng.choice(live)
        kind = rng.randrange(10)
        if kind < 3:
            self.report(host, whole=kind == 0)
        elif kind < 5:
            service = Service(host, disabled=rng.random() < 0.5, last_seen_up=self.now)
            self.try_to(c.UpdateService(service))
        elif kind == 5:
            members = frozenset(rng.sample(live, rng.randrange(len(live))))
            metadata = rng.choice(
                ({}, {"availability_zone": "az1"}, {"ram_weight_multiplier": "-2.0"})
            )
            aggregate = HostAggregate(
                uuid_of(900_000 + rng.randrange(3)), "a", None, members, metadata
            )
            self.try_to(c.SetHostAggregates((aggregate,)))
        elif kind == 6 and self.instances:
            uuid = rng.choice(self.instances)
            self.try_to(c.DeleteAllocations(uuid))
        elif kind == 7 and self.instances:
            chosen = tuple(Instance(uuid) for uuid in rng.sample(self.instances, 1))
            self.try_to(c.UpdateInstances(host, chosen))
        elif kind == 8:
            group = ServerGroup(
                uuid_of(800_000), "g", rng.choice(GROUPS), 1, frozenset(self.instances)
            )
            self.try_to(c.SetServerGroup(group))
        elif rng.random() < 0.2:
            self.try_to(c.DeleteHost(host, host))
        else:
            self.report(f"h{rng.randrange(len(live) + 2)}", whole=True)

    def label(self) -> None:
        """Some providers bear some traits."""
        for trait in TRAITS:
            self.try_to(c.CreateTrait(trait))
        for provider in tuple(self.state.providers.rows()):
            chosen = self.rng.sample(TRAITS, self.rng.randrange(len(TRAITS) + 1))
            self.try_to(c.SetTraits(provider.uuid, tuple(chosen), provider.generation))

    def stir_books(self) -> None:
        """Something happens to names, traits, inventories or trees."""
        rng, state = self.rng, self.state
        live = [provider.uuid for provider in state.providers.rows()]
        uuid = rng.choice(live)
        found = state.providers.find(uuid)
        assert found is not None
        trait = rng.choice(TRAITS)
        kind = rng.randrange(8)
        if kind == 0:
            self.try_to(c.CreateTrait(trait))
        elif kind == 1:
            self.try_to(c.DeleteTrait(trait))
        elif kind == 2:
            self.try_to(c.SetTraits(uuid, (trait,), found.generation))
        elif kind == 3:
            self.try_to(c.SetTraits(uuid, (SHARES,), found.generation))
        elif kind == 4:
            parent = rng.choice((None, uuid))
            new = self.new_uuid()
            self.try_to(c.CreateProvider(new, f"p{new}", parent))
            self.try_to(c.SetAggregates(new, (POOL,)))
        elif kind == 5:
            self.try_to(
                c.PutInventory(uuid, "DISK_GB", c.Inventory(rng.choice((0, 50))))
            )
        elif kind == 6:
            self.try_to(c.SetAggregates(uuid, rng.choice(((), (POOL,)))))
        else:
            version = rng.choice((60, 80))
            self.try_to(
                c.UpdateService(Service(f"h{rng.randrange(6)}", version=version))
            )

    def request(
        self, count: int = 1, swaps: Sequence[int] = (0, 0, 1024)
    ) -> ScheduleRequest:
        """Some request for ``count`` instances, of a few shapes."""
        rng = self.rng
        group = None
        if rng.random() < 0.3:
            group = InstanceGroup(
                uuid_of(800_000), rng.choice(GROUPS), 1, frozenset(self.instances[-3:])
            )
        spec = RequestSpec(
            flavor=Flavor(
                vcpus=rng.choice((1, 2)),
                memory_mb=rng.choice((512, 2048)),
                root_gb=rng.choice((0, 10)),
                ephemeral_gb=rng.choice((0, 0, 5)),
                swap=rng.choice(swaps),
                extra_specs=rng.choice(
                    (
                        {},
                        {"capabilities:hypervisor_type": "QEMU"},
                        {f"trait:{rng.choice(TRAITS)}": "required"},
                        {f"trait:{rng.choice(TRAITS)}": "forbidden"},
                    )
                ),
            ),
            image=rng.choice((None, Image(properties={"hw_architecture": "x86_64"}))),
            project_id="p",
            user_id="u",
            availability_zone=rng.choice((None, None, "az1")),
            instance_group=group,
            ignore_hosts=rng.choice(((), (), ("H1",))),
            requested_destination=rng.choice(
                (None, None, None, Destination(host="h2"))
            ),
        )
        uuids = tuple(self.new_uuid() for _ in range(count))
        return ScheduleRequest(spec, uuids)


def source(by_books: bool) -> CandidateSource:
    """Where amounts are asked."""
    return BOOK_SOURCE if by_books else REPORT_SOURCE


def decided(
    desk: Desk, driver: Driver, request: ScheduleRequest, **more: Any
) -> InstancePicks:
    """By what hosts report; a refusal says why. ``more``: for ``cycle.decide``."""
    given = desk.state, request, source(False), driver
    with unwritten(desk.state):
        try:
            return cycle.decide(*given, now=desk.now, **more)
        except NoValidHost as refusal:
            trials = Trials(*given, desk.now)
            raise cycle.explained(refusal, trials, more.get("mark")) from None
