"""What is asked for in plain words: items of a demand, and what they are called.

Apart from ``spec``, the request that ``scheduler.request.plain_item`` makes of an item.
Relations between items (``demand_relations``) stand beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Final
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta, Struct

from gantt.errors import Invalid
from gantt.model.bounds import MAX_NAME, MAX_WHOLE, Count, Lease, Name, RequestId, Text
from gantt.model.demand_relations import ItemRelation, bound, check_relations
from gantt.model.names import canonical_uuid, on_one_line
from gantt.model.quantities import Quantity, whole_amount

MOST_NAMED: Final = 64
"""Labels, classes, aggregates or others that one item may name."""
CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {"cpu": "VCPU", "memory": "MEMORY_MB", "disk": "DISK_GB", "gpu": "PGPU"}
)
"""The plain names of resource classes."""
_CONSUMERS: Final = UUID("5d3c1a52-6f0e-4f0b-8c55-0f6f3a6f1b1e")
_PLANS: Final = UUID("b0c3f1f6-3d53-4f0b-9d6b-4a3f5d5a7c02")

_UUID: Final = 32
"""A uuid has at least so many characters."""

PlanName = Annotated[str, Meta(max_length=MAX_NAME)]
WaitS = Annotated[float, Meta(gt=0, le=7 * 86_400.0, description="Seconds.")]
Priority = Annotated[int, Meta(ge=-1_000, le=1_000)]
ProjectName = Annotated[str, Meta(max_length=MAX_NAME)]
Labels = Annotated[dict[Name, Text], Meta(max_length=MOST_NAMED)]
Names = Annotated[tuple[Name, ...], Meta(max_length=MOST_NAMED)]


class Item(Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """``count`` things that are alike, each on one host. Amounts are numbers in the
    unit of their class (CPUs, MiB of memory, GiB of disk, GPUs), or have a unit:
    "4GiB". ``resources``: of any class, by its name. ``labels``: key and value of those
    that its hosts must have, ``without``: must not have, ``prefer``: are better with;
    "" as value: any. ``aggregates``: its hosts are in each of these. ``zone``,
    ``host``: where it must be. ``not_with``: names, of other items of the demand or of
    what was placed before, which must be on other hosts. ``artifacts``: names; hosts
    that hold more bytes of these are preferred; ``need_artifacts``: those that its
    hosts must hold, of what is registered."""

    name: Name
    count: Count = 1
    cpu: Quantity = 0
    memory: Quantity = 0
    disk: Quantity = 0
    gpu: Quantity = 0
    resources: Annotated[dict[Name, Quantity], Meta(max_length=MOST_NAMED)] = {}
    labels: Labels = {}
    without: Labels = {}
    aggregates: Names = ()
    zone: Name | None = None
    host: Name | None = None
    not_with: Names = ()
    prefer: Labels = {}
    artifacts: Names = ()
    need_artifacts: Names = ()

    def __repr__(self) -> str:
        return on_one_line(super().__repr__())

    @property
    def names(self) -> tuple[str, ...]:
        """What each of it is called: NAME, or of several NAME-1, NAME-2 and so on."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, self.count + 1))

    @property
    def amounts(self) -> dict[str, int]:
        """What each of it takes, by resource class, in the unit of that. Raises
        Invalid."""
        found: dict[str, int] = {}
        for field, given in self._said():
            name = CLASSES.get(field.lower(), field.upper())
            try:
                amount = whole_amount(name, given)
            except ValueError as error:
                raise self.wrong(field, f"{error}") from None
            if not 0 <= amount <= MAX_WHOLE:
                raise self.wrong(field, f"{given!r} is not from 0 to {MAX_WHOLE}")
            if name in found:
                raise self.wrong(field, "is given twice")
            if amount:
                found[name] = amount
        if not found:
            raise Invalid(
                f"Item {self.name!r} asks for nothing: give it cpu, memory, disk, gpu "
                "or resources."
            )
        return found

    def _said(self) -> Iterator[tuple[str, Quantity]]:
        for field in CLASSES:
            if given := getattr(self, field):
                yield field, given
        yield from self.resources.items()

    def wrong(self, field: str, what: str) -> Invalid:
        """The refusal of a field."""
        return Invalid(f"Item {self.name!r}, {field}: {what}.")


class Demand(Struct, frozen=True):
    """Items that are placed together, or not at all. ``plan``: asked again under this
    name, the same demand has the same answer; "": it has none. ``project``: whose the
    names are. ``lease_s``: all of it ends after so many seconds unless it is confirmed.
    ``wait_s``: where there is no room now it waits for so long, by ``priority`` (higher
    ones first), then age. ``dry_run``: it is only told where all would be.
    ``only_project``: things of other projects are refused; a service over HTTP derives
    it from the caller."""

    items: tuple[Item, ...]
    plan: PlanName = ""
    project: ProjectName | None = None
    lease_s: Lease | None = None
    dry_run: bool = False
    relations: tuple[ItemRelation, ...] = ()
    wait_s: WaitS | None = None
    priority: Priority = 0
    request_id: RequestId = ""
    user_id: Text | None = None
    only_project: Text | None = None

    def __repr__(self) -> str:
        each = ", ".join(f"{one.count} of {one.name!r}" for one in self.items)
        named = f"{self.plan!r}: " if self.plan else ""
        return on_one_line(f"<Demand {named}{each}>")

    @property
    def claim(self) -> str | None:
        """The claim that has its plan's name; None: any new one."""
        return claim_of_plan(self.project, self.plan) if self.plan else None

    def shape(self, *, by_project: bool) -> str:
        """Equal for demands that any room suits alike, whatever they are called;
        ``by_project``: hosts are not the same for every project. Nor is what they are
        apart from or near to: a name is of its project."""
        names_others = any(one.not_with for one in self.items)
        names_others = names_others or any(one.to for one in self.relations)
        whose = (self.project or "") if by_project or names_others else None
        items = [(each[0][1:], *each[1:]) for each in map(_said, self.items)]
        relations = sorted(_related(one, self.names) for one in self.relations)
        what = whose, items, relations
        text = msgspec.json.encode(what, order="deterministic")
        return sha256(text).hexdigest()[:32]

    def uuid(self, name: str) -> str:
        """By which consumer the books know what is called so."""
        return consumer_uuid(self.project, name)

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Item -> what the things of it are called."""
        return {item.name: item.names for item in self.items}

    @property
    def digest(self) -> str:
        """Equal for demands that ask for the same, however it is written; "" without a
        plan: no demand repeats another."""
        if not self.plan:
            return ""
        what: tuple[Any, ...] = (self.project or "", self.lease_s is not None)
        what += ([*map(_said, self.items)],)
        if self.relations:
            names = self.names
            what += (sorted(_related(one, names) for one in self.relations),)
        text = msgspec.json.encode(what, order="deterministic")
        return sha256(text).hexdigest()[:32]


def demand_of(
    parts: Sequence[Item | ItemRelation],
    plan: str,
    project: str | None,
    lease_s: float | None,
    dry_run: bool,
) -> Demand:
    """A demand for items with relations, in any order."""
    items = [one for one in parts if not isinstance(one, ItemRelation)]
    relations = [one for one in parts if isinstance(one, ItemRelation)]
    given = plan, project, lease_s, dry_run
    return Demand(tuple(items), *given, tuple(relations))


def _said(item: Item) -> tuple[Any, ...]:
    near = sorted(item.artifacts), sorted(item.need_artifacts)
    found: tuple[Any, ...] = (
        (item.name, item.count, item.amounts, item.labels, item.without),
        (sorted(item.aggregates), item.zone, item.host, sorted(item.not_with)),
        *((near,) if any(near) else ()),  # digests of before stay as they are
    )
    return (*found, item.prefer) if item.prefer else found


def _related(one: ItemRelation, names: Mapping[str, tuple[str, ...]]) -> list[Any]:
    said = [one.kind, one.key, one.to, sorted(bound(one, names))]
    return [*said, one.most, one.min_domains, one.soft]


def consumer_uuid(project: str | None, name: str) -> str:
    """A name that is a uuid stands for itself; others are a project's own."""
    found = canonical_uuid(name) if len(name) >= _UUID else None
    return found or str(uuid5(_names_of(project or ""), name))


@lru_cache
def _names_of(project: str) -> UUID:
    return uuid5(_CONSUMERS, project)


def claim_of_plan(project: str | None, plan: str) -> str:
    """The name of the claim that stands for a plan."""
    return str(uuid5(uuid5(_PLANS, project or ""), plan))


_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE: Final = msgspec.msgpack.Decoder(Demand).decode


def typed(demand: Demand) -> Demand:
    """``demand`` with fields of valid types. Raises Invalid, which names the field."""
    try:
        return _DECODE(_ENCODE(demand))
    except (msgspec.ValidationError, TypeError, OverflowError, RecursionError) as error:
        raise Invalid(f"The demand is not valid: {error}.") from None


def check(demand: Demand) -> None:
    """Raises Invalid, which names item and field, for what can never be."""
    for item in demand.items:
        item.amounts  # noqa: B018 - raises Invalid
        both = item.labels.items() & item.without.items()
        if both:
            key, value = min(both)
            raise item.wrong("without", f"{key}={value} is among its labels, too")
        if len(item.names[-1]) > MAX_NAME:
            raise item.wrong("name", f"with its numbers exceeds {MAX_NAME} characters")
        if item.count > 1 and any(map(canonical_uuid, item.names)):
            # No door asks whose that is.
            raise item.wrong("name", "with one of its numbers it is a uuid")
    known = set[str]()
    is_one = len(demand.items) == 1 and demand.items[0].count == 1
    for name in () if is_one else names_of(demand.items):
        uuid = demand.uuid(name)
        if uuid in known:
            raise Invalid(f"Two things are called {name!r}: rename one of the items.")
        known.add(uuid)
    if demand.relations:
        check_relations(demand.relations, demand.names)


def names_of(items: Iterable[Item]) -> Iterator[str]:
    """What all of it is called, in the order of the items."""
    for item in items:
        yield from item.names
