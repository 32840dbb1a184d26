"""What if: other hosts, ratios, policy or flavors, as one value read from a TOML file.

Read strictly, so that a misspelt key changes no question in silence, and options are
such as a gantt.conf may have. What it says is carried out by ``trying`` on a copy of
the books, or here on the machines of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from gantt.conf.allowed import check_values
from gantt.errors import Invalid, Refused
from gantt.model.bounds import Amount, ExtraSpecs
from gantt.model.spec import RequestSpec
from gantt.replay.events import Arrival
from gantt.replay.fleets import fleet_of
from gantt.replay.machines import Machine
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions

T = TypeVar("T")

_MOST: Final = 100_000
_FIXED: Final = ("placement", "placement_token", "use_placement")


class Added(Struct, frozen=True, forbid_unknown_fields=True):
    """``count`` empty hosts ``like`` one that there is, or a ``fleet`` in words as
    ``gantt replay --fleet`` takes them."""

    count: Annotated[int, Meta(ge=1, le=_MOST)] = 1
    like: str = ""
    fleet: str = ""


class Ratio(Struct, frozen=True, forbid_unknown_fields=True):
    """The allocation ratio of a resource class; ``hosts`` (): of all that have it."""

    resource_class: str
    ratio: Annotated[float, Meta(gt=0, le=1e6)]
    hosts: tuple[str, ...] = ()


class OtherFlavor(Struct, frozen=True, forbid_unknown_fields=True):
    """What a request for the flavor ``name`` asks for instead; the rest stays."""

    name: str
    vcpus: Amount | UnsetType = UNSET
    memory_mb: Amount | UnsetType = UNSET
    root_gb: Amount | UnsetType = UNSET
    ephemeral_gb: Amount | UnsetType = UNSET
    swap: Amount | UnsetType = UNSET
    extra_specs: ExtraSpecs | UnsetType = UNSET


class WhatIf(Struct, frozen=True, forbid_unknown_fields=True):
    """``remove``: hosts that are not there; ``drain``: that take no instances more.
    ``options``: of ``SchedulerOptions``, and factors of weighers, by name. ``where``:
    the file, which messages name; none is in the file itself."""

    add: tuple[Added, ...] = ()
    remove: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    options: dict[str, Any] = {}
    flavors: tuple[OtherFlavor, ...] = ()
    where: str = ""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Refusals within name the file."""
        try:
            yield
        except (Invalid, Refused) as error:
            if not self.where:
                raise
            raise type(error)(f"{self.where}: {error.message}") from error

    @property
    def has_hosts(self) -> bool:
        """Whether hosts, or what they offer, are other ones."""
        return bool(self.add or self.remove or self.drain or self.ratios)

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
        """The same with other flavors."""
        for one in arrivals:
            yield replace(one, spec=self.asked(one.spec)) if self.flavors else one

    def machines(self, machines: Sequence[Machine]) -> tuple[Machine, ...]:
        """The fleet of a trace, which is empty at first: a drained machine takes none,
        as if it were not there. Raises Invalid."""
        by_name = {one.name: one for one in machines}
        gone = {*self.remove, *self.drain}
        expect(by_name, (*gone, *(host for one in self.ratios for host in one.hosts)))
        found = [one for one in machines if one.name not in gone]
        for one in self.add:
            if one.like:
                expect(by_name, (one.like,))
            found += new_machines(one, by_name.get(one.like), set(by_name))
            by_name |= {machine.name: machine for machine in found}
        for ratio in self.ratios:
            found = [_with_ratio(one, ratio) for one in found]
        return tuple(found)


AS_IT_IS: Final = WhatIf()
"""Nothing is changed."""


def read_what_if(path: Path) -> WhatIf:
    """Raises Invalid, with the name of a key that is not known."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=WhatIf)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise Invalid(f"{path}: {error}.") from error
    except RecursionError as error:
        raise Invalid(f"{path} is nested too deeply.") from error
    for one in found.add:
        if bool(one.like) == bool(one.fleet):
            raise Invalid(f"{path}: each add has either like or fleet.")
        if one.fleet and one.count != 1:
            raise Invalid(
                f"{path}: count goes with like; of a fleet, write {one.count}x before "
                "it."
            )
    if len({one.name for one in found.flavors}) < len(found.flavors):
        raise Invalid(f"{path}: two flavors have one name.")
    if found.where:
        raise Invalid(f"{path}: Object contains unknown field `where`.")
    check_values(found.options, str(path))
    return replace(found, where=str(path))


def expect(known: Iterable[str], wanted: Iterable[str]) -> None:
    """Raises Invalid for hosts that are not known."""
    there = set(known)
    missing = [name for name in wanted if name not in there]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise Invalid(
            f"There is no host {', '.join(missing[:5])}{more}: name hosts that there "
            "are."
        )


def noted(
    asked: Iterable[T], spec_of: Callable[[T], RequestSpec], names: set[str | None]
) -> Iterator[T]:
    """The same; ``names`` takes those of the flavors, for ``WhatIf.unasked``."""
    for one in asked:
        names.add(spec_of(one).flavor.name)
        yield one


def new_machines(
    one: Added, like: Machine | None, taken: set[str]
) -> Iterator[Machine]:
    """Empty machines, with names that none has."""
    alike = list(fleet_of([one.fleet])) if like is None else [like] * one.count
    if len(alike) > _MOST:
        raise Invalid(
            f"add has a fleet of {len(alike):,} hosts; at most {_MOST:,} may be added."
        )
    number = 0
    for machine in alike:
        number += 1
        while f"what-if-{number}" in taken:
            number += 1
        name = f"what-if-{number}"
        taken.add(name)
        yield replace(machine, name=name)


def _with_ratio(machine: Machine, ratio: Ratio) -> Machine:
    mine = machine.inventories.get(ratio.resource_class)
    if mine is None or (ratio.hosts and machine.name not in ratio.hosts):
        return machine
    changed = replace(mine, allocation_ratio=ratio.ratio)
    inventories = {**machine.inventories, ratio.resource_class: changed}
    return replace(machine, inventories=inventories)
