"""What if: other hosts, ratios, policy or flavors, as one value.

``what_if_file`` reads it. What it says is carried out by ``trying`` on a copy of the
books, or here on the machines of a trace; what is refused names the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from gantt.conf.known_values import check_values
from gantt.errors import Conflict, Invalid, NotFound, Refused
from gantt.model.bounds import Amount, ExtraSpecs
from gantt.model.spec import RequestSpec
from gantt.replay.events import Arrival
from gantt.replay.fleet_files import fleet_of
from gantt.replay.machines import Machine, build
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions

T = TypeVar("T")
E = TypeVar("E", "Added", "AllocationRatio", "OtherFlavor")

MOST: Final = 100_000
"""Hosts that an entry may add."""
MOST_RATIO: Final = 1_000_000
_FIXED: Final = (
    "placement",
    "placement_token",
    "use_placement",
    "names_are_checked",
)


class Added(Struct, frozen=True, forbid_unknown_fields=True):
    """``count`` empty hosts ``like`` one that there is, or a ``fleet`` in words as
    ``gantt replay --fleet`` takes them."""

    count: Annotated[int, Meta(ge=1, le=MOST)] = 1
    like: str = ""
    fleet: str = ""

    @property
    def title(self) -> str:
        """What the new hosts are."""
        return self.like or self.fleet


class AllocationRatio(Struct, frozen=True, forbid_unknown_fields=True):
    """The allocation ratio of a resource class; ``hosts`` (): of all that have it."""

    resource_class: str
    ratio: Annotated[float, Meta(gt=0, le=MOST_RATIO)]
    hosts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its resource class."""
        return self.resource_class


class OtherFlavor(Struct, frozen=True, forbid_unknown_fields=True):
    """What a request for the flavor ``name`` asks for instead; the rest stays."""

    name: str
    vcpus: Amount | UnsetType = UNSET
    memory_mb: Amount | UnsetType = UNSET
    root_gb: Amount | UnsetType = UNSET
    ephemeral_gb: Amount | UnsetType = UNSET
    swap: Amount | UnsetType = UNSET
    extra_specs: ExtraSpecs | UnsetType = UNSET

    @property
    def title(self) -> str:
        """Its name."""
        return self.name


class WhatIf(Struct, frozen=True, forbid_unknown_fields=True):
    """``remove``: hosts that are not there; ``drain``: that take no instances more.
    ``options``: of ``SchedulerOptions``, and factors of weighers, by name. ``where``:
    the file, which messages name; none is in the file itself."""

    add: tuple[Added, ...] = ()
    remove: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    ratios: tuple[AllocationRatio, ...] = ()
    options: dict[str, Any] = {}
    flavors: tuple[OtherFlavor, ...] = ()
    where: str = ""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Refusals within name the file."""
        with within(self.where):
            yield

    @contextmanager
    def asking(self, specs: Iterable[RequestSpec]) -> Iterator[None]:
        """Refusals within name the file, and its flavors that these ask for: what is
        asked of a copy that is not changed is not refused."""
        names = {one.flavor.name for one in specs}
        flavors = entries("flavors", self.flavors)
        mine = [entry for entry, one in flavors if one.name in names]
        with self.named(), within(", ".join(mine)):
            yield

    @property
    def has_hosts(self) -> bool:
        """Whether hosts, or what they offer, are other ones."""
        return bool(self.host_keys)

    @property
    def host_keys(self) -> list[str]:
        """The keys that say so."""
        keys = ("add", "remove", "drain", "ratios")
        return [key for key in keys if getattr(self, key)]

    def policy(self, usual: SchedulerOptions) -> SchedulerOptions:
        """``usual`` with the options that are given. Raises Invalid."""
        known = {one for one in usual.__struct_fields__ if one not in _FIXED}
        plain = {name: one for name, one in self.options.items() if name in known}
        factors = {name: one for name, one in self.options.items() if name not in known}
        check_values(self.options, "")
        factors = {**plain.get("multipliers", {}), **factors}
        weighers = {*DEFAULT_MULTIPLIERS, *usual.multipliers}
        if wrong := [name for name in factors if name not in weighers]:
            raise Invalid(
                f"options has {', '.join(wrong)}, which cannot be changed: name "
                "options of [filter_scheduler], and factors of weighers "
                f"({', '.join(sorted(DEFAULT_MULTIPLIERS))})."
            )
        check_values({"multipliers": factors}, "")
        multipliers = {**usual.multipliers, **factors}
        whole = asdict(usual) | plain | {"multipliers": multipliers}
        try:
            return msgspec.convert(whole, SchedulerOptions)
        except msgspec.MsgspecError as error:
            raise Invalid(f"options: {error}.") from error

    def asked(self, spec: RequestSpec) -> RequestSpec:
        """``spec`` with the flavor that stands for its own."""
        for one in self.flavors:
            if one.name == spec.flavor.name:
                given = {k: v for k, v in asdict(one).items() if v is not UNSET}
                return replace(spec, flavor=replace(spec.flavor, **given))
        return spec

    def unasked(self, names: Iterable[str | None]) -> tuple[str, ...]:
        """Flavors of the file that none of these is."""
        asked = set(names)
        return tuple(one.name for one in self.flavors if one.name not in asked)

    # -- traces -------------------------------------------------------------------

    def arrivals(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        """The arrivals, with the other flavors that the what-if has."""
        for one in arrivals:
            yield replace(one, spec=self.asked(one.spec)) if self.flavors else one

    def machines(self, machines: Sequence[Machine]) -> tuple[Machine, ...]:
        """The fleet of a trace, which is empty at first: a drained machine takes none,
        as if it were not there. Raises Invalid."""
        by_name = {one.name: one for one in machines}
        self.expect(by_name)
        gone = {*self.remove, *self.drain}
        found = [one for one in machines if one.name not in gone]
        for entry, one in entries("add", self.add):
            with within(entry):
                if one.like:
                    expect(by_name, (one.like,))
                joined = list(new_machines(one, by_name.get(one.like), set(by_name)))
                if one.fleet:
                    build(joined)  # refused here, where the entry is known
                found += joined
            by_name |= {machine.name: machine for machine in found}
        if not found:
            raise Invalid("no machine is left: remove or drain fewer.")
        for entry, ratio in entries("ratios", self.ratios):
            with within(entry):
                if not any(ratio.resource_class in one.inventories for one in found):
                    raise no_inventory(ratio)
            found = [_with_ratio(one, ratio) for one in found]
        return tuple(found)

    def expect(self, hosts: Iterable[str]) -> None:
        """Raises Invalid for hosts of ``remove``, ``drain`` and ``ratios`` that are not
        among these."""
        there = set(hosts)
        for key, names in (("remove", self.remove), ("drain", self.drain)):
            with within(key):
                expect(there, names)
        for entry, one in entries("ratios", self.ratios):
            with within(entry):
                expect(there, one.hosts)


AS_IT_IS: Final = WhatIf()
"""Nothing is changed."""


@contextmanager
def within(what: str) -> Iterator[None]:
    """Refusals within begin with ``what``, unless it is ""."""
    try:
        yield
    except (Conflict, Invalid, NotFound, Refused) as error:
        if not what:
            raise
        raise type(error)(f"{what}: {error.message}") from error


def entries(key: str, each: Iterable[E]) -> Iterator[tuple[str, E]]:
    """Each with what messages call it: its place in the file, and its title."""
    for number, one in enumerate(each):
        yield entry_name(key, number, one.title), one


def entry_name(key: str, number: int, title: str) -> str:
    """What messages call an entry; ``number``: from 0 on."""
    return f'{key}[{number}] "{title}"' if title else f"{key}[{number}]"


def no_inventory(ratio: AllocationRatio) -> Invalid:
    """The refusal of a ratio that would change nothing."""
    return Invalid(
        f"no host has an inventory of {ratio.resource_class}; name a resource class "
        "that hosts have."
    )


def expect(known: Iterable[str], wanted: Iterable[str]) -> None:
    """Raises Invalid for hosts that are not known."""
    there = set(known)
    missing = [name for name in wanted if name not in there]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise Invalid(
            f"there is no host {', '.join(missing[:5])}{more}: name hosts that there "
            "are."
        )


def noted(
    asked: Iterable[T], spec_of: Callable[[T], RequestSpec], names: set[str | None]
) -> Iterator[T]:
    """Requests one by one, while ``names`` takes those of their flavors, for
    ``WhatIf.unasked``."""
    for one in asked:
        names.add(spec_of(one).flavor.name)
        yield one


def new_machines(
    one: Added, like: Machine | None, taken: set[str]
) -> Iterator[Machine]:
    """Empty machines, with names that none has."""
    alike = list(fleet_of([one.fleet])) if like is None else [like] * one.count
    if len(alike) > MOST:
        raise Invalid(
            f"the fleet has {len(alike):,} hosts; at most {MOST:,} may be added: write "
            "fewer."
        )
    number = 0
    for machine in alike:
        number += 1
        while f"what-if-{number}" in taken:
            number += 1
        name = f"what-if-{number}"
        taken.add(name)
        yield replace(machine, name=name)


def _with_ratio(machine: Machine, ratio: AllocationRatio) -> Machine:
    mine = machine.inventories.get(ratio.resource_class)
    if mine is None or (ratio.hosts and machine.name not in ratio.hosts):
        return machine
    changed = replace(mine, allocation_ratio=ratio.ratio)
    inventories = {**machine.inventories, ratio.resource_class: changed}
    return replace(machine, inventories=inventories)
