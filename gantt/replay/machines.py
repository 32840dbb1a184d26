"""The fleet of a replay: machines, and the State in which they stand empty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct

from gantt.engine.factory import standard_names
from gantt.errors import Conflict, Invalid, UnknownName
from gantt.model import commands as c
from gantt.model.answers import Inventory
from gantt.model.hosts import HostAggregate, HostStats
from gantt.replay.replay_books import ReplayBooks

START: Final = 1_700_000_000_000_000
"""The time at which traces start, in microseconds since the epoch: their own times are
relative."""
_SPACE: Final = UUID("6f0f2b5e-6f5c-5d0a-9d3e-5d1f6a1c7b52")
_CUSTOM: Final = "CUSTOM_"


class SubProvider(Struct, frozen=True):
    """A provider below its machine: a GPU, a NUMA node."""

    name: str
    inventories: dict[str, Inventory]
    traits: tuple[str, ...] = ()


class Machine(Struct, frozen=True):
    """A host. ``inventories``: of its root provider; ``parts``: providers below it.
    ``labels``: names of host aggregates that it is in."""

    name: str
    inventories: dict[str, Inventory]
    traits: tuple[str, ...] = ()
    zone: str | None = None
    labels: tuple[str, ...] = ()
    parts: tuple[SubProvider, ...] = ()


def uuid_of(*names: str) -> str:
    """A uuid that is the same for the same names, in every replay."""
    return str(uuid5(_SPACE, "\n".join(names)))


def build(machines: Sequence[Machine]) -> ReplayBooks:
    """The books of these machines, all empty. Raises Invalid, DuplicateName."""
    if not machines:
        raise Invalid("The fleet has no machine; name at least one.")
    books = ReplayBooks(START)
    for command in name_commands(machines):
        books.submit(command)
    for machine in machines:
        with of_machine(machine.name):
            for command in machine_commands(machine):
                books.submit(command)
    for aggregate in _aggregates(machines):
        books.submit(c.SetHostAggregates((aggregate,)))
    return books


@contextmanager
def of_machine(name: str) -> Iterator[None]:
    """Refusals within name the machine."""
    try:
        yield
    except UnknownName as error:
        raise type(error)(
            f"{name}: {error.message.rstrip('.')}: name one that there is, or begin it "
            f"with {_CUSTOM}."
        ) from error
    except (Conflict, Invalid) as error:
        raise type(error)(f"{name}: {error.message}") from error


def name_commands(machines: Sequence[Machine]) -> Iterator[c.Command[object]]:
    """What makes the names of classes and traits that the machines need."""
    classes: dict[str, None] = {}
    traits: dict[str, None] = {}
    for machine in machines:
        classes |= dict.fromkeys(machine.inventories)
        traits |= dict.fromkeys(machine.traits)
        for part in machine.parts:
            classes |= dict.fromkeys(part.inventories)
            traits |= dict.fromkeys(part.traits)
    yield standard_names()
    for name in classes:
        if name.startswith(_CUSTOM):
            yield c.CreateResourceClass(name)
    for name in traits:
        if name.startswith(_CUSTOM):
            yield c.CreateTrait(name)


def machine_commands(machine: Machine) -> Iterator[c.Command[object]]:
    """What makes the machine, whose names of classes and traits there are."""
    root = uuid_of(machine.name)
    yield from _provider(root, machine.name, None, machine.inventories, machine.traits)
    for part in machine.parts:
        yield from _provider(
            uuid_of(machine.name, part.name),
            f"{machine.name}_{part.name}",
            root,
            part.inventories,
            part.traits,
        )
    yield c.UpdateHost(
        machine.name, machine.name, empty_stats(machine), root, writes_books=False
    )


def _provider(
    uuid: str,
    name: str,
    parent: str | None,
    inventories: dict[str, Inventory],
    traits: tuple[str, ...],
) -> Iterator[c.Command[object]]:
    yield c.CreateProvider(uuid, name, parent)
    if inventories:
        yield c.SetInventories(uuid, inventories)
    if traits:
        yield c.SetTraits(uuid, traits)


def empty_stats(machine: Machine) -> HostStats:
    """What such a host reports while it is empty: weighers read it."""
    vcpus, memory_mb, disk_gb = (
        machine.inventories.get(name, Inventory(0))
        for name in ("VCPU", "MEMORY_MB", "DISK_GB")
    )
    return HostStats(
        uuid=uuid_of(machine.name),
        vcpus=vcpus.total,
        memory_mb=memory_mb.total,
        local_gb=disk_gb.total,
        vcpus_used=0,
        memory_mb_used=0,
        local_gb_used=0,
        free_ram_mb=memory_mb.total,
        free_disk_gb=disk_gb.total,
        disk_available_least=disk_gb.total,
        running_vms=0,
        hypervisor_hostname=machine.name,
        cpu_allocation_ratio=vcpus.allocation_ratio,
        ram_allocation_ratio=memory_mb.allocation_ratio,
        disk_allocation_ratio=disk_gb.allocation_ratio,
    )


def _aggregates(machines: Iterable[Machine]) -> Iterator[HostAggregate]:
    zones: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    for machine in machines:
        if machine.zone is not None:
            zones.setdefault(machine.zone, []).append(machine.name)
        for label in machine.labels:
            labels.setdefault(label, []).append(machine.name)
    for zone, names in zones.items():
        metadata = {"availability_zone": zone}
        yield HostAggregate(
            uuid_of("zone", zone), zone, None, frozenset(names), metadata
        )
    for label, names in labels.items():
        yield HostAggregate(uuid_of("label", label), label, None, frozenset(names))
