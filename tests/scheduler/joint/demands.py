"""Random small fleets and demands, and all ways to place them, by their own
arithmetic."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from gantt import Item, apart, distinct, near, spread
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.demand_relations import ItemRelation
from gantt.scheduler.options import SchedulerOptions
from tests.idle_host import idle

KEYS: Final = ("rack", "row", "host")
NOTHING: Final = ""


class Host(NamedTuple):
    """What is free, and where it is."""

    cpus: int
    memory: int
    places: Mapping[str, str]


class Case(NamedTuple):
    """A fleet by name, a demand, and on which host ``db`` is, if on any."""

    hosts: dict[str, Host]
    items: list[Item]
    relations: list[ItemRelation]
    db: str

    @property
    def names(self) -> list[str]:
        return [name for item in self.items for name in item.names]


def case_of(seed: int) -> Case:
    """Fleets on which about half of the demands have a place."""
    rng = random.Random(seed)
    hosts = {}
    for number in range(rng.randint(2, 4)):
        name = f"h{number}"
        places = {"rack": f"r{rng.randrange(3)}", "row": rng.choice("ab")}
        if rng.random() < 0.15:
            places = {}
        cpus, memory = rng.randint(2, 8), 1024 * rng.randint(2, 8)
        hosts[name] = Host(cpus, memory, {**places, "host": name})
    items, left = list[Item](), 5
    for name in "abc"[: rng.randint(1, 3)]:
        count = min(left, rng.randint(1, 3))
        left -= count
        cpu, memory = rng.randint(1, 4), 1024 * rng.randint(1, 4)
        others = [item.name for item in items if rng.random() < 0.2]
        if count:
            items.append(Item(name, count, cpu, memory, not_with=tuple(others)))
    db = rng.choice([*hosts]) if rng.random() < 0.4 else NOTHING
    few = range(rng.choice((0, 0, 1, 1, 2)))
    relations = [_relation(rng, items, has_db=bool(db)) for _ in few]
    return Case(hosts, items, relations, db)


def _relation(rng: random.Random, items: list[Item], *, has_db: bool) -> ItemRelation:
    names = [item.name for item in items]
    some = rng.sample(names, rng.randint(0, len(names)))
    key = rng.choice(KEYS)
    if rng.random() < 0.3:
        least = rng.choice((1, 1, 3))
        return spread(key, rng.randint(1, 2), min_domains=least, items=some)
    if rng.random() < 0.3:
        return distinct(key, rng.randint(1, 2), items=some)
    known = [*names, *(["db"] * 2 if has_db else [])]
    to = rng.choice(known)
    return rng.choice((near, apart))(to, key, items=[one for one in some if one != to])


def opened(case: Case) -> Gantt:
    """Books of the fleet of a case."""
    quick = SchedulerOptions(change_budget=1)  # no refusal is explained at length
    books = open_gantt("memory://", EngineOptions(scheduler=quick))
    for name, host in case.hosts.items():
        cpus = host.cpus + (name == case.db)
        memory = host.memory + 1024 * (name == case.db)
        books.update_host(name, name, idle(cpus, memory, cpu_allocation_ratio=1.0))
        labels = {key: place for key, place in host.places.items() if key != "host"}
        if labels:
            books.label_host(name, labels)
    if case.db:
        books.place(Item("db", cpu=1, memory=1024, host=case.db))
    return books


def ways(case: Case) -> Iterator[dict[str, str]]:
    """Thing -> host, for each way that keeps everything."""
    for hosts in product(case.hosts, repeat=len(case.names)):
        way = dict(zip(case.names, hosts, strict=True))
        if keeps(case, way):
            yield way


def keeps(case: Case, way: Mapping[str, str]) -> bool:
    """Whether amounts and relations hold."""
    cpus, memory = Counter[str](), Counter[str]()
    for item in case.items:
        for name in item.names:
            cpus[way[name]] += int(item.cpu)
            memory[way[name]] += int(item.memory)
        others = [one for one in case.items if one.name in item.not_with]
        for other in others:
            mine = {way[name] for name in item.names}
            if mine & {way[name] for name in other.names}:
                return False
    fits = all(
        cpus[name] <= host.cpus and memory[name] <= host.memory
        for name, host in case.hosts.items()
    )
    return fits and all(_holds(case, one, way) for one in case.relations)


def _holds(case: Case, one: ItemRelation, way: Mapping[str, str]) -> bool:
    def place(name: str) -> str:
        host = case.db if name == "db" else way[name]
        return case.hosts[host].places.get(one.key, NOTHING)

    items = {item.name: item.names for item in case.items}
    bound = [name for name in one.items or items if name != one.to]
    own = [place(name) for item in bound for name in items[item]]
    if NOTHING in own:
        return False
    if one.to:
        there = {place(name) for name in items.get(one.to, (one.to,))}
        if one.kind == "near":
            return there >= {*own}
        # Said of both items: neither is where the key is not.
        return not there & {*own} and (one.to == "db" or NOTHING not in there)
    counts = Counter(own)
    if one.kind == "distinct":
        return max(counts.values()) <= one.most
    domains = {host.places.get(one.key, NOTHING) for host in case.hosts.values()}
    domains -= {NOTHING}
    least = min(counts[domain] for domain in domains)
    if len(domains) < one.min_domains:
        least = 0
    return max(counts.values()) <= one.most + least
