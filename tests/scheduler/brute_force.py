"""Placement by trying everything, from the rules alone: a model of small fleets.

It shares no code with what decides. A host has CPUs, memory, traits, GPUs below it
(providers of their own), cells with CPUs to pin, and cards near a cell or near none.
CPUs of a cell are alike, and so are cards of a node, so that they are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import permutations, product
from random import Random
from typing import NamedTuple


class Group(NamedTuple):
    """``limit``: members on one host, of anti-affinity."""

    uuid: str
    policy: str
    limit: int = 1


class Wish(NamedTuple):
    """What one instance asks for. ``pieces``: of GPUs, each from one; ``fast``: of fast
    ones; ``isolate``: of different ones. ``cells``: of so many host cells ``cpus``
    pinned CPUs each; 0: ``vcpus`` of the host. ``cards``: with ``near`` to its
    cells."""

    vcpus: int = 0
    memory_mb: int = 64
    trait: str | None = None
    pieces: tuple[int, ...] = ()
    fast: bool = False
    isolate: bool = False
    cells: int = 0
    cpus: int = 0
    cards: int = 0
    near: str = "legacy"
    group: Group | None = None


class Way(NamedTuple):
    """Where on a host: the GPU of each piece, the cell of each cell, the node of each
    card, sorted."""

    gpus: tuple[int, ...]
    cells: tuple[int, ...]
    cards: tuple[int, ...]


NOWHERE = -1
"""The node of a card that is near no cell."""


@dataclass
class Host:
    """``gpus``: what is left of each, and whether it is fast; ``cells``: free CPUs;
    ``cards``: free ones by node; ``members``: by group."""

    name: str
    vcpus: int
    memory_mb: int
    traits: frozenset[str] = frozenset()
    gpus: list[tuple[int, bool]] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    cards: Counter[int] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)

    def key(self) -> tuple[object, ...]:
        """Equal for states that can take the same."""
        return (
            self.name,
            self.vcpus,
            self.memory_mb,
            tuple(sorted(self.gpus)),
            tuple(self.cells),
            tuple(sorted(self.cards.items())),
            tuple(sorted(self.members.items())),
        )

    def ways(self, wish: Wish) -> Iterator[Way]:
        """Every way to take the instance, by itself; groups apart."""
        if self.memory_mb < wish.memory_mb or self.vcpus < wish.vcpus:
            return
        if wish.trait is not None and wish.trait not in self.traits:
            return
        for gpus in self._gpus(wish):
            for cells in permutations(range(len(self.cells)), wish.cells):
                if all(self.cells[at] >= wish.cpus for at in cells):
                    for cards in self._cards(wish, cells):
                        yield Way(gpus, cells, cards)

    def _gpus(self, wish: Wish) -> Iterator[tuple[int, ...]]:
        for chosen in product(range(len(self.gpus)), repeat=len(wish.pieces)):
            if wish.isolate and len(set(chosen)) < len(chosen):
                continue
            taken: Counter[int] = Counter()
            for at, piece in zip(chosen, wish.pieces, strict=True):
                taken[at] += piece
            if all(
                self.gpus[at][0] >= much and (self.gpus[at][1] or not wish.fast)
                for at, much in taken.items()
            ):
                yield chosen

    def _cards(self, wish: Wish, cells: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        free = sorted(self.cards.elements())
        if wish.cells and wish.near == "required":
            free = [node for node in free if node in cells]
        elif wish.cells and wish.near == "legacy":
            free = [node for node in free if node in (*cells, NOWHERE)]
        found = {tuple(sorted(one)) for one in permutations(free, wish.cards)}
        yield from sorted(found)

    def take(self, wish: Wish, way: Way) -> None:
        self.vcpus -= wish.vcpus
        self.memory_mb -= wish.memory_mb
        for at, piece in zip(way.gpus, wish.pieces, strict=True):
            self.gpus[at] = (self.gpus[at][0] - piece, self.gpus[at][1])
        for at in way.cells:
            self.cells[at] -= wish.cpus
        self.cards.subtract(way.cards)
        if wish.group is not None:
            self.members[wish.group.uuid] += 1

    def after(self, wish: Wish) -> Iterator[Host]:
        """Every state after taking the instance, each once."""
        seen = set()
        for way in self.ways(wish):
            other = deepcopy(self)
            other.take(wish, way)
            if other.key() not in seen:
                seen.add(other.key())
                yield other


def may_join(hosts: Sequence[Host], at: int, group: Group | None) -> bool:
    """Whether the rule of the group lets a member be there."""
    if group is None:
        return True
    if group.policy == "anti-affinity":
        return hosts[at].members[group.uuid] < group.limit
    where = [one for one in hosts if one.members[group.uuid]]
    return not where or where == [hosts[at]]


def fits(hosts: Sequence[Host], wish: Wish) -> bool:
    """Whether there is any place."""
    return any(
        may_join(hosts, at, wish.group) and next(one.ways(wish), None) is not None
        for at, one in enumerate(hosts)
    )


def most(hosts: Sequence[Host], wish: Wish, count: int) -> int:
    """How many of ``count`` instances that are alike can be placed together."""
    each = [_most_on(one, wish, count) for one in hosts]
    group = wish.group
    if group is None:
        return min(count, sum(each))
    if group.policy == "anti-affinity":
        room = [group.limit - one.members[group.uuid] for one in hosts]
        return min(count, sum(map(min, each, room)))
    return max(
        many if may_join(hosts, at, group) else 0 for at, many in enumerate(each)
    )


def _most_on(host: Host, wish: Wish, count: int) -> int:
    if not count:
        return 0
    best, level = 0, {host.key(): host}
    while level and best < count:
        level = {
            one.key(): one for before in level.values() for one in before.after(wish)
        }
        best += bool(level)
    return best


def best_of(hosts: Sequence[Host], wishes: Sequence[Wish]) -> int:
    """How many of the ``wishes`` can be placed by an order that knows all of them."""
    level: dict[tuple[object, ...], tuple[int, list[Host]]] = {}
    _keep(level, 0, list(hosts))
    for wish in wishes:
        following: dict[tuple[object, ...], tuple[int, list[Host]]] = {}
        for placed, state in level.values():
            _keep(following, placed, state)
            for at, host in enumerate(state):
                if may_join(state, at, wish.group):
                    for after in host.after(wish):
                        _keep(following, placed + 1, _with(state, at, after))
        level = following
    return max(placed for placed, _ in level.values())


def _with(state: list[Host], at: int, host: Host) -> list[Host]:
    return [*state[:at], host, *state[at + 1 :]]


def _keep(
    level: dict[tuple[object, ...], tuple[int, list[Host]]],
    placed: int,
    state: list[Host],
) -> None:
    key = tuple(one.key() for one in state)
    if key not in level or level[key][0] < placed:
        level[key] = placed, state


# -- drawn fleets and wishes ----------------------------------------------------------


def drawn_hosts(dice: Random, most_hosts: int = 6) -> list[Host]:
    """A few hosts of two kinds: with GPUs below them, or with cells and cards."""
    found = []
    for number in range(dice.randint(1, most_hosts)):
        traits = frozenset(
            one for one in ("CUSTOM_A", "CUSTOM_B") if dice.random() < 0.5
        )
        host = Host(
            f"h{number}", dice.choice((2, 4, 8)), dice.choice((256, 512, 1024)), traits
        )
        if dice.random() < 0.5:
            host.gpus = [(1000, dice.random() < 0.5) for _ in range(dice.randint(1, 3))]
        else:
            host.cells = [dice.choice((2, 3, 4)) for _ in range(dice.randint(1, 2))]
            nodes = [*range(len(host.cells)), NOWHERE]
            host.cards = Counter(dice.choice(nodes) for _ in range(dice.randint(0, 3)))
        found.append(host)
    return found


def drawn_wish(dice: Random, groups: Sequence[Group] = ()) -> Wish:
    """Of CPUs, of GPUs, or of cells and cards."""
    memory_mb = dice.choice((64, 64, 128))
    trait = dice.choice((None, None, "CUSTOM_A", "CUSTOM_B"))
    group = dice.choice(groups) if groups and dice.random() < 0.4 else None
    kind = dice.randrange(3)
    if kind == 0:
        return Wish(dice.choice((1, 2, 3)), memory_mb, trait, group=group)
    if kind == 1:
        pieces = dice.choice(((300,), (500,), (600,), (1000,), (400, 400), (500, 500)))
        return Wish(
            vcpus=1,
            memory_mb=memory_mb,
            trait=trait,
            pieces=pieces,
            fast=dice.random() < 0.3,
            isolate=len(pieces) > 1 and dice.random() < 0.5,
            group=group,
        )
    cells = dice.choice((1, 1, 2))
    return Wish(
        vcpus=0,
        memory_mb=memory_mb,
        trait=trait,
        cells=cells,
        cpus=dice.choice((1, 1, 2)),
        cards=dice.choice((0, 0, 1, 1, 2)),
        near=dice.choice(("required", "legacy", "preferred")),
        group=group,
    )
