"""Fleets and requests at random, most of which have no hosts, and every single change
of a request in its own words, for tests of what is advised after a refusal.

The changes are made here once more, with nothing of the library's own: what is advised
is looked up by its text and applied as a caller would.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.hosts import HostAggregate, Service
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.quantities import quantity
from gantt.model.selection import Why
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.idle_host import idle

TRAITS = ("CUSTOM_A", "CUSTOM_B")
VF = "SRIOV_NET_VF"
ZONE, NEAR = (
    "00000000-0000-4000-a000-000000000001",
    "00000000-0000-4000-a000-000000000002",
)
GROUPS = ("anti-affinity", "affinity", "soft-affinity", "soft-anti-affinity")
MORE_FILTERS = (
    "NumInstancesFilter",
    "SameHostFilter",
    "DifferentHostFilter",
    "JsonFilter",
)
_OLD_FILTERS = ("RamFilter", "CoreFilter", "DiskFilter")
_NO_SEARCH = 1
Make = Callable[[ScheduleRequest], ScheduleRequest]


def uuid_of(number: int) -> str:
    """The ``number``-th uuid."""
    return f"{number:08x}-0000-4000-8000-000000000000"


# Without any of these, what is asked for is no instance.
_NEEDED = {
    "VCPU": ("VCPU", "PCPU"),
    "PCPU": ("VCPU", "PCPU"),
    "MEMORY_MB": ("MEMORY_MB",),
}


@dataclass(frozen=True)
class Way:
    """One single change. ``rank``: its kind, smallest first; ``share``: within amounts
    and instances, what is given up of what was asked; ``without``: a filter."""

    text: str
    rank: int
    share: float = 0.0
    make: Make | None = None
    without: str | None = None


class Scene:
    """A fleet in an engine, and a request, both drawn from ``seed``."""

    def __init__(self, seed: int, *, is_nested: bool, by_books: bool) -> None:
        self.rng = rng = random.Random(seed)
        self._uuids = 0
        filters = [*DEFAULT_FILTERS, *MORE_FILTERS]
        if rng.random() < 0.15:
            filters.append(rng.choice(_OLD_FILTERS))
        self.options = SchedulerOptions(
            driver=rng.choice(("caching", "filter")),
            use_placement="always" if by_books else "never",
            enabled_filters=tuple(filters),
            max_instances_per_host=rng.choice((2, 50)),
            records=1,
        )
        self._by_books, self._is_nested = by_books, is_nested
        self.engine: Gantt = open_gantt(
            "memory://", EngineOptions(scheduler=self.options)
        )
        self.hosts = [f"h{number}" for number in range(rng.randrange(1, 5))]
        self.running: list[str] = []
        self._found()
        self.request = self._request()

    def close(self) -> None:
        """The engine's end."""
        self.engine.close()

    # -- what is asked of it ------------------------------------------------------

    def why(self, request: ScheduleRequest | None = None) -> Why | None:
        """Why there is no host; None: there is one. Raises what the engine does."""
        self.engine.decide_by(self.options)
        found = self.engine.decide(request or self.request)
        return None if found.failure is None else found.why or Why()

    def holds(self, way: Way) -> bool:
        """Whether every instance has a host when the change is made."""
        return self.hold([way])

    def hold(self, ways: list[Way]) -> bool:
        """The same of several together."""
        options = replace(self.options, change_budget=_NO_SEARCH)
        request = self.request
        for way in ways:
            if way.without is not None:
                left = [n for n in options.enabled_filters if n != way.without]
                options = replace(options, enabled_filters=tuple(left))
            if way.make is not None:
                request = way.make(request)
        self.engine.decide_by(options)
        try:
            return self.engine.decide(request).failure is None
        except GanttError:
            return False

    # -- the fleet ----------------------------------------------------------------

    def new_uuid(self) -> str:
        self._uuids += 1
        return uuid_of(self._uuids)

    def _found(self) -> None:
        rng, engine = self.rng, self.engine
        for trait in TRAITS:
            engine.submit(c.CreateTrait(trait))
        for host in self.hosts:
            self._report(host)
            if rng.random() < 0.2:
                engine.update_service(Service(host, disabled=True))
        zone = frozenset(host for host in self.hosts if rng.random() < 0.5)
        engine.set_host_aggregates(
            [HostAggregate(ZONE, "z", None, zone, {"availability_zone": "az1"})]
        )
        if self._by_books and self._is_nested:
            self._share()
        for _ in range(rng.randrange(3)):
            uuid = self.new_uuid()
            small = RequestSpec(
                flavor=Flavor(vcpus=1, memory_mb=1, root_gb=1), project_id="p"
            )
            with suppress(GanttError):
                engine.schedule(ScheduleRequest(small, (uuid,)))
                self.running.append(uuid)

    def _report(self, host: str) -> None:
        rng = self.rng
        vcpus, memory, disk = rng.randrange(2, 9), rng.randrange(4, 25), 20
        stats = idle(
            vcpus,
            memory,
            disk,
            cpu_allocation_ratio=rng.choice((1.0, 1.0, 2.0)),
            ram_allocation_ratio=1.0,
            disk_allocation_ratio=1.0,
            hypervisor_hostname=host,
            hypervisor_type=rng.choice(("QEMU", "Xen")),
            supported_instances=[[rng.choice(("x86_64", "aarch64")), "kvm", "hvm"]],
            stats={"num_instances": "0"},
        )
        self.engine.update_host(host, host, stats)
        (view,) = self.engine.list_hosts(host=host)
        if view.provider_uuid is None:
            return
        chosen = tuple(trait for trait in TRAITS if rng.random() < 0.4)
        self.engine.submit(c.SetTraits(view.provider_uuid, chosen))
        if not self._by_books:
            return
        if rng.random() < 0.4:
            name, total = rng.choice((("VCPU", vcpus), ("MEMORY_MB", memory)))
            units = c.Inventory(
                total,
                min_unit=rng.choice((1, 1, 2)),
                max_unit=rng.randrange(1, total + 1),
                step_size=rng.choice((1, 2, 3)),
            )
            self.engine.submit(c.PutInventory(view.provider_uuid, name, units))
        for child in range(rng.randrange(3) if self._is_nested else 0):
            uuid = self.new_uuid()
            self.engine.create_provider(
                f"{host}-{child}", uuid=uuid, parent_uuid=view.provider_uuid
            )
            ports = c.Inventory(total=rng.randrange(1, 5))
            self.engine.set_inventories(uuid, {VF: ports})
            chosen = tuple(trait for trait in TRAITS if rng.random() < 0.3)
            self.engine.submit(c.SetTraits(uuid, chosen))

    def _share(self) -> None:
        """Disks of some hosts are those of a pool beside them."""
        if self.rng.random() < 0.6:
            return
        pool = self.new_uuid()
        self.engine.create_provider("pool", uuid=pool)
        total = self.rng.randrange(5, 40)
        self.engine.set_inventories(pool, {"DISK_GB": c.Inventory(total=total)})
        self.engine.submit(c.SetTraits(pool, (SHARES_VIA_AGGREGATE,)))
        self.engine.submit(c.SetAggregates(pool, (NEAR,)))
        for view in self.engine.list_hosts():
            if view.provider_uuid is not None and self.rng.random() < 0.7:
                self.engine.submit(c.SetAggregates(view.provider_uuid, (NEAR,)))
                self.engine.submit(c.DeleteInventory(view.provider_uuid, "DISK_GB"))

    # -- the request --------------------------------------------------------------

    def _request(self) -> ScheduleRequest:
        rng = self.rng
        count = rng.choice((1, 1, 2, 3, 5))
        flavor = Flavor(
            vcpus=rng.choice((1, 2, 2, rng.randrange(1, 13))),
            memory_mb=rng.choice((1, 2, 4, rng.randrange(1, 33))),
            root_gb=rng.choice((1, 2, 5, rng.randrange(1, 27))),
            ephemeral_gb=rng.choice((0, 0, 2)),
            extra_specs=self._extra_specs(),
        )
        spec = RequestSpec(
            flavor=flavor,
            num_instances=count,
            project_id="p",
            image=self._sometimes(Image(properties={"hw_architecture": "aarch64"})),
            availability_zone=self._sometimes("az1"),
            ignore_hosts=self._sometimes((rng.choice(self.hosts),)) or (),
            force_hosts=self._sometimes((rng.choice(self.hosts),)) or (),
            requested_destination=self._sometimes(self._destination()),
            instance_group=self._group(),
            scheduler_hints=self._hints(),
            requested_resources=self._ports(),
            request_level_params=self._level(),
        )
        uuids = tuple(self.new_uuid() for _ in range(count))
        return ScheduleRequest(spec, None if rng.random() < 0.2 else uuids)

    def _sometimes(self, value: Any, share: float = 0.06) -> Any:
        return value if self.rng.random() < share else None

    def _destination(self) -> Destination:
        rng = self.rng
        if rng.random() < 0.6:
            return Destination(host=rng.choice((*self.hosts, "gone")))
        if rng.random() < 0.5:
            return Destination(forbidden_aggregates=frozenset((ZONE,)))
        return Destination(aggregates=(frozenset((ZONE,)),))

    def _group(self) -> InstanceGroup | None:
        if self.rng.random() < 0.7:
            return None
        members = frozenset(self.running[:1])
        policy = self.rng.choice(GROUPS)
        return InstanceGroup(uuid_of(800_000), policy, 1, members)

    def _hints(self) -> dict[str, tuple[str, ...]]:
        rng = self.rng
        found: dict[str, tuple[str, ...]] = {}
        other = rng.choice(self.running) if self.running else uuid_of(700_000)
        if rng.random() < 0.06:
            found["same_host"] = (other,)
        elif rng.random() < 0.06:
            found["different_host"] = (other,)
        if rng.random() < 0.06:
            found["query"] = ('[">=", "$free_ram_mb", 12]',)
        return found

    def _level(self) -> RequestLevel:
        found = self._sometimes(frozenset((TRAITS[1],)), 0.05)
        return RequestLevel(root_forbidden=found or frozenset())

    def _extra_specs(self) -> dict[str, str]:
        rng, found = self.rng, {}
        if rng.random() < 0.12:
            says = rng.choice(("required", "required", "forbidden"))
            found[f"trait:{rng.choice(TRAITS)}"] = says
        if rng.random() < 0.06:
            found["capabilities:hypervisor_type"] = "QEMU"
        if rng.random() < 0.1:
            found["resources:VCPU"] = str(rng.randrange(1, 10))
        if not (self._by_books and self._is_nested):
            return found
        for suffix in ("1", "2")[: rng.choice((0, 0, 1, 2, 2))]:
            found[f"resources{suffix}:{VF}"] = str(rng.randrange(1, 4))
            found["group_policy"] = rng.choice(("none", "isolate"))
            if rng.random() < 0.2:
                found[f"trait{suffix}:{rng.choice(TRAITS)}"] = "required"
        return found

    def _ports(self) -> tuple[ResourceGroup, ...]:
        if not (self._by_books and self._is_nested) or self.rng.random() < 0.85:
            return ()
        traits = frozenset((self.rng.choice(TRAITS),))
        asked = {VF: self.rng.randrange(1, 4)}
        return (ResourceGroup("port", asked, required_traits=traits),)


# -- every single change --------------------------------------------------------------


def ways(scene: Scene) -> Iterator[Way]:
    """All of them, in no order."""
    request = scene.request
    for count in range(1, request.count):
        yield Way(
            f"ask for {count} instead of {request.count} instances",
            1,
            1 - count / request.count,
            _instances(count),
        )
    amounts = [*_amounts(request.spec)]
    for where, name, amount, make in amounts:
        for less in range(1, amount):
            asked = quantity(name, less, is_exact=True)
            yield Way(
                f"ask for {asked} instead of {quantity(name, amount)} {name}{where}",
                0,
                1 - less / amount,
                _of_spec(make, less),
            )
        if name not in _NEEDED or sum(one[1] in _NEEDED[name] for one in amounts) > 1:
            text = f"ask without {quantity(name, amount)} {name}{where}"
            yield Way(text, 20, 0, _of_spec(make, 0))
    yield from _left_out(request.spec)
    for name in scene.options.enabled_filters:
        yield Way(f"take {name} out of enabled_filters", 30, without=name)


def _of_spec(make: Callable[..., RequestSpec], *given: Any) -> Make:
    return lambda request: replace(request, spec=make(request.spec, *given))


def _instances(count: int) -> Make:
    def make(request: ScheduleRequest) -> ScheduleRequest:
        spec = replace(request.spec, num_instances=count)
        uuids = request.instance_uuids
        return replace(
            request, spec=spec, instance_uuids=None if uuids is None else uuids[:count]
        )

    return make


def _amounts(
    spec: RequestSpec,
) -> Iterator[tuple[str, str, int, Callable[[RequestSpec, int], RequestSpec]]]:
    """(in which group, class, amount, spec and amount -> spec)."""
    specs = spec.flavor.extra_specs
    if "resources:VCPU" in specs:
        yield "", "VCPU", int(specs["resources:VCPU"]), _extra("resources:VCPU")
    else:
        yield "", "VCPU", spec.flavor.vcpus, _sized("vcpus")
    yield "", "MEMORY_MB", spec.flavor.memory_mb, _sized("memory_mb")
    disk = spec.flavor.root_gb + spec.flavor.ephemeral_gb
    yield "", "DISK_GB", disk, _disk
    for suffix in ("1", "2"):
        key = f"resources{suffix}:{VF}"
        if key in specs:
            yield f" in group {suffix}", VF, int(specs[key]), _extra(key)
    for group in spec.requested_resources:
        yield f" in group {group.requester_id}", VF, group.resources[VF], _port


def _sized(field: str) -> Callable[[RequestSpec, int], RequestSpec]:
    return lambda spec, amount: replace(
        spec, flavor=replace(spec.flavor, **{field: amount})
    )


def _extra(key: str) -> Callable[[RequestSpec, int], RequestSpec]:
    def make(spec: RequestSpec, amount: int) -> RequestSpec:
        specs = {**spec.flavor.extra_specs, key: str(amount)}
        return replace(spec, flavor=replace(spec.flavor, extra_specs=specs))

    return make


def _disk(spec: RequestSpec, amount: int) -> RequestSpec:
    ephemeral = min(spec.flavor.ephemeral_gb, amount)
    flavor = replace(spec.flavor, root_gb=amount - ephemeral, ephemeral_gb=ephemeral)
    return replace(spec, flavor=flavor)


def _port(spec: RequestSpec, amount: int) -> RequestSpec:
    (group,) = spec.requested_resources
    asked = {VF: amount} if amount else {}
    return replace(spec, requested_resources=(replace(group, resources=asked),))


def _left_out(spec: RequestSpec) -> Iterator[Way]:
    for hint in spec.scheduler_hints:
        left = {k: v for k, v in spec.scheduler_hints.items() if k != hint}
        yield _way(f"leave out the hint {hint}", 2, scheduler_hints=left)
    if spec.instance_group is not None:
        yield _way("ask without the server group", 3, instance_group=None)
    for key, value in spec.flavor.extra_specs.items():
        yield from _without_extra(spec, key, value)
    for trait in spec.request_level_params.root_forbidden:
        text = f"ask without the condition: the root has not trait {trait}"
        yield _way(text, 6, request_level_params=RequestLevel())
    for group in spec.requested_resources:
        for trait in group.required_traits:
            less = replace(group, required_traits=frozenset())
            text = f"ask without trait {trait} in group {group.requester_id}"
            yield _way(text, 7, requested_resources=(less,))
    if spec.image is not None:
        text = "leave out the image property hw_architecture"
        yield _way(text, 11, image=Image())
    if spec.availability_zone is not None:
        text = "leave out the availability zone az1"
        yield _way(text, 12, availability_zone=None)
    if spec.ignore_hosts:
        yield _way("ignore no hosts", 13, ignore_hosts=())
    if spec.force_hosts:
        yield _way("force no hosts", 16, force_hosts=())
    place = spec.requested_destination
    if place is not None and place.host is not None:
        text = f"leave out the requested host {place.host}"
        yield _way(text, 14, requested_destination=None)
    if place is not None and place.forbidden_aggregates:
        text = f"ask without the condition: not in aggregate {ZONE}"
        yield _way(text, 8, requested_destination=None)
    if place is not None and place.aggregates:
        text = f"ask without the condition: in aggregate {ZONE}"
        yield _way(text, 9, requested_destination=None)


def _without_extra(spec: RequestSpec, key: str, value: str) -> Iterator[Way]:
    left = {k: v for k, v in spec.flavor.extra_specs.items() if k != key}
    prefix, _, name = key.partition(":")
    suffix = prefix.removeprefix("trait")
    where = f" in group {suffix}" if suffix else ""
    if key == "group_policy" and value == "isolate":
        specs = {**left, key: "none"}
        less = replace(spec.flavor, extra_specs=specs)
        yield _way("ask with group_policy none", 4, flavor=less)
    elif prefix.startswith("trait"):
        is_required = value == "required"
        text = f"trait {name}" if is_required else f"the condition: not trait {name}"
        rank = 7 if value == "required" else 5
        less = replace(spec.flavor, extra_specs=left)
        yield _way(f"ask without {text}{where}", rank, flavor=less)
    elif prefix == "capabilities":
        less = replace(spec.flavor, extra_specs=left)
        yield _way(f"leave out the extra spec {key}", 10, flavor=less)


def _way(text: str, rank: int, **fields: Any) -> Way:
    return Way(text, rank, 0.0, _of_spec(lambda spec: replace(spec, **fields)))
