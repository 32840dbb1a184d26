"""An item in plain words becomes a request for hosts: the only place that does so.

What it names is looked up in the books as they are: a name that is not there is refused
with the nearest that are, so that nothing is placed by a mistyped one. The request has
a flavor of the item's amounts without a name, because requests that differ in their
flavor's name would be evaluated apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Invalid, NoValidHost
from gantt.model.artifacts import HELP, NEED
from gantt.model.demand import Demand, Item
from gantt.model.demand_relations import ItemRelation, depths
from gantt.model.diagnosis import nearest
from gantt.model.names import spellings
from gantt.model.selection import Why
from gantt.model.spec import (
    Destination,
    Flavor,
    LabelTerms,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.placement.artifact_queries import check_known, check_registered
from gantt.placement.named_placements import check_free
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.plain_relations import terms_of
from gantt.state.state import State

_CUSTOM: Final = "CUSTOM_"
_ZONE: Final = "availability_zone"
_SIZES: Final = frozenset({"VCPU", "MEMORY_MB", "DISK_GB"})


class Wish(Struct, frozen=True):
    """An item as a request. ``words``: a name in the request -> what the item calls
    it. ``uuids``: consumers that it will be; ``not_with``: those that must be on other
    hosts; ``shunned``: the hosts of those that are placed; ``depth``: how many items
    must have their place before."""

    item: Item
    request: ScheduleRequest
    uuids: tuple[str, ...]
    words: Mapping[str, str]
    not_with: frozenset[str] = frozenset()
    shunned: frozenset[str] = frozenset()
    depth: int = 0

    def beside(self, request: ScheduleRequest, hosts: Iterable[str]) -> ScheduleRequest:
        """``request`` on none of the shunned hosts, nor of these. Raises
        NoValidHost."""
        ignored = self.shunned.union(hosts)
        if not ignored:
            return request
        if self.item.host in ignored:
            raise NoValidHost(
                f"{self.item.host} has what it must not be with: choose another host, "
                "or ask without not_with.",
                Why(),
            )
        spec = replace(request.spec, ignore_hosts=tuple(sorted(ignored)))
        return replace(request, spec=spec)


def wishes(state: State, demand: Demand, options: SchedulerOptions) -> list[Wish]:
    """The items of a demand, in their order. Raises Invalid for names that are not
    known, AlreadyClaimed for those that are taken."""
    apart = _apart(state, demand)
    found = [
        _Compiler(state, demand, item, options).wish(apart[item.name])
        for item in demand.items
    ]
    return _related(state, demand, found) if demand.relations else found


def _related(state: State, demand: Demand, found: list[Wish]) -> list[Wish]:
    """These wishes with the relations of the demand."""

    def unknown(one: ItemRelation) -> Invalid:
        named = (*_placed(state, demand), *demand.names)
        return one.wrong("to", _there(one.to, named))

    terms = terms_of(state, demand, unknown)
    depth = depths(demand.relations, demand.names)
    return [
        replace(
            one,
            request=replace(one.request, relations=terms[one.item.name]),
            depth=depth[one.item.name],
        )
        for one in found
    ]


def _apart(state: State, demand: Demand) -> dict[str, frozenset[str]]:
    """Item -> the consumers that it must not be with; between items, both ways.
    Raises Invalid."""
    found: dict[str, set[str]] = {item.name: set() for item in demand.items}
    if not any(item.not_with for item in demand.items):  # as of most
        return dict.fromkeys(found, frozenset())
    own = {item.name: frozenset(map(demand.uuid, item.names)) for item in demand.items}
    for item in demand.items:
        for name in item.not_with:
            if name == item.name:
                raise item.wrong("not_with", "it cannot be apart from itself")
            if name in own:
                found[item.name] |= own[name]
                found[name] |= own[item.name]
                continue
            uuid = demand.uuid(name)
            if not state.fleet.hosts_of(uuid):
                raise _unknown(item, "not_with", name, _placed(state, demand))
            found[item.name].add(uuid)
    return {name: frozenset(uuids) for name, uuids in found.items()}


class _Compiler:
    """One item. ``words`` grows as names are looked up."""

    def __init__(
        self, state: State, demand: Demand, item: Item, options: SchedulerOptions
    ) -> None:
        self._state, self._demand, self._item = state, demand, item
        self._options = options
        self.words: dict[str, str] = {}

    def wish(self, not_with: frozenset[str]) -> Wish:
        """All of it. Raises Invalid, AlreadyClaimed."""
        demand, item, fleet = self._demand, self._item, self._state.fleet
        uuids = tuple(map(demand.uuid, item.names))
        for name, uuid in zip(item.names, uuids, strict=True):
            check_free(self._state, name, uuid)
        hosts = {host for uuid in not_with for host in fleet.hosts_of(uuid)}
        request = ScheduleRequest(
            self._spec(),
            None if demand.dry_run else uuids,
            return_alternates=False,
            dry_run=demand.dry_run,
            lease_s=None if demand.dry_run else demand.lease_s,
            request_id=demand.request_id,
            user_id=demand.user_id,
            project_id=demand.project,
            only_project=demand.only_project,
            among=sum(one.count for one in demand.items),
        )
        return Wish(item, request, uuids, self.words, not_with, frozenset(hosts))

    def _spec(self) -> RequestSpec:
        item = self._item
        amounts = {self._class(name): n for name, n in item.amounts.items()}
        others = {name: n for name, n in amounts.items() if name not in _SIZES}
        inside = tuple(map(self._aggregate, item.aggregates))
        aim = None
        if inside or item.host is not None:
            host = None if item.host is None else self._host(item.host)
            aim = Destination(host, aggregates=inside)
        return RequestSpec(
            Flavor(
                amounts.get("VCPU", 0),
                amounts.get("MEMORY_MB", 0),
                amounts.get("DISK_GB", 0),
            ),
            num_instances=item.count,
            project_id=self._demand.project,
            availability_zone=None if item.zone is None else self._zone(item.zone),
            requested_destination=aim,
            requested_resources=(
                (ResourceGroup(resources=others, use_same_provider=False),)
                if others
                else ()
            ),
            labels=self._labels(),
            scheduler_hints=self._artifacts(),
        )

    def _artifacts(self) -> dict[str, tuple[str, ...]]:
        """What it names, as hints. Raises Invalid."""
        item, fleet = self._item, self._state.fleet
        check_known(fleet, item.artifacts, f"Item {item.name!r}, artifacts")
        needs = f"Item {item.name!r}, need_artifacts"
        check_registered(fleet, item.need_artifacts, needs)
        hints = {HELP: item.artifacts, NEED: item.need_artifacts}
        return {hint: names for hint, names in hints.items() if names}

    # -- names ------------------------------------------------------------------------

    def _class(self, name: str) -> str:
        if name in _SIZES:  # which are always known
            return name
        known = self._state.classes
        for one in (name, _CUSTOM + name):
            if known.find(one) is not None:
                return one
        used = (one.name for one in known.rows() if self._is_had(one.name))
        raise _unknown(self._item, "resources", name, used)

    def _is_had(self, name: str) -> bool:
        """Whether any host may have something of the class."""
        index = self._state.classes.index_of(name)
        return index is not None and self._state.inventories.table(index) is not None

    def _zone(self, asked: str) -> str:
        every = self._state.fleet.aggregates.metadata.values()
        known = {self._options.default_availability_zone}
        known |= {metadata[_ZONE] for metadata in every if _ZONE in metadata}
        if asked not in known:
            raise _unknown(self._item, "zone", asked, known)
        return asked

    def _host(self, asked: str) -> str:
        hosts = self._state.fleet.hosts
        for row in hosts.rows_of(asked):
            self.words[hosts.uuids[row] or ""] = asked
        if not hosts.rows_of(asked):
            raise _unknown(
                self._item, "host", asked, {place[0] for place in hosts.by_place}
            )
        return asked

    def _aggregate(self, asked: str) -> frozenset[str]:
        table = self._state.fleet.aggregates
        found = {one.uuid for one in table.rows() if one.name == asked}
        found |= {uuid for uuid in spellings(asked) if uuid in table.by_uuid}
        if not found:
            names = {one.name for one in table.rows()}
            raise _unknown(self._item, "aggregates", asked, names)
        self.words.update(dict.fromkeys(found, asked))
        return frozenset(found)

    def _labels(self) -> LabelTerms | None:
        """None: of none. Raises Invalid."""
        item, domains = self._item, self._state.domains
        if not (item.labels or item.without or item.prefer):
            return None
        for field in ("labels", "without", "prefer"):
            for key, value in getattr(item, field).items():
                if not domains.knows(key, value):
                    label = f"{key}={value}" if value else key
                    raise _unknown(item, field, label, domains.known_labels())
        return LabelTerms(item.labels, item.without, item.prefer)


def _placed(state: State, demand: Demand) -> Iterator[str]:
    """What is placed is called so, in the project of the demand."""
    fleet = state.fleet
    for booked in fleet.claims.booked.values():
        if booked.project == (demand.project or ""):
            yield booked.name


def _unknown(item: Item, field: str, asked: str, known: Iterable[str]) -> Invalid:
    """``known``: which there are, of which the nearest are named."""
    return item.wrong(field, _there(asked, known))


def _there(asked: str, known: Iterable[str]) -> str:
    return f"{asked!r} is not known here; there is {nearest(asked, known)}"
