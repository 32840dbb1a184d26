"""What a search must answer, by brute force over all combinations of providers.

Written from the wire contract alone, over plain Nodes: no State, no masks, no pruning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from tests.placement.candidates.worlds import SHARES, Node

# (provider, class, amount) of each allocation; (suffix, provider) of each mapping.
Answer = tuple[frozenset[tuple[str, str, int]], frozenset[tuple[str, str]]]
# One way to meet one group: (provider, class) pairs; class None where it asks none.
Entry = tuple[tuple[Node, str | None], ...]


class Reference:
    """The answers of one world."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.by_uuid = {node.uuid: node for node in nodes}

    def answers(self, request: CandidateRequest) -> set[Answer]:
        """Every candidate for ``request``, limits aside."""
        found = set()
        for anchor in self.nodes:
            if anchor.parent is None and _bears(anchor.traits, request.root_traits):
                entries = [list(self.entries(g, anchor)) for g in request.groups]
                for chosen in product(*entries):
                    if self.holds(request, chosen):
                        found.add(_answer(request, chosen))
        return found

    def root(self, node: Node) -> Node:
        """The root of the tree that ``node`` is in."""
        while node.parent is not None:
            node = self.by_uuid[node.parent]
        return node

    def is_near(self, node: Node, anchor: Node) -> bool:
        """Whether ``node`` is in the tree of ``anchor``, or shares with it."""
        if self.root(node) == anchor:
            return True
        return SHARES in node.traits and any(
            set(other.aggregates) & set(node.aggregates)
            for other in self.nodes
            if self.root(other) == anchor
        )

    def entries(self, group: RequestGroup, anchor: Node) -> Iterator[Entry]:
        """The ways to meet ``group`` under ``anchor``."""
        near = [node for node in self.nodes if self.is_near(node, anchor)]
        if group.suffix:
            for node in near:
                if self.suits_alone(group, node):
                    yield tuple((node, rc) for rc in group.resources) or ((node, None),)
            return
        pools = [
            [n for n in near if self.suits_part(group, n, anchor, rc)]
            for rc in group.resources
        ]
        for nodes in product(*pools):
            together = {trait for node in nodes for trait in node.traits}
            if all(names & together for names in group.traits.required):
                yield tuple(zip(nodes, group.resources, strict=True))

    def suits_alone(self, group: RequestGroup, node: Node) -> bool:
        """Whether ``node`` by itself is all that a suffixed group wants."""
        if not (
            _bears(node.traits, group.traits)
            and _bears(node.aggregates, group.member_of)
        ):
            return False
        if not group.resources:
            return bool(group.traits.required or group.member_of.required)
        if group.in_tree and not self.is_in_tree(node, group.in_tree):
            return False
        return all(_has_room(node, rc, n) for rc, n in group.resources.items())

    def suits_part(
        self, group: RequestGroup, node: Node, anchor: Node, rc: str
    ) -> bool:
        """Whether ``node`` may give ``rc`` to the unsuffixed group under ``anchor``."""
        if not _has_room(node, rc, group.resources[rc]):
            return False
        if group.traits.forbidden & set(node.traits):
            return False
        if group.in_tree and not self.is_in_tree(node, group.in_tree):
            return False
        inside = Labels(required=group.member_of.required)
        outside = Labels(forbidden=group.member_of.forbidden)
        is_inside = _bears(node.aggregates, inside)
        if self.root(node) == anchor:
            is_inside = is_inside or _bears(anchor.aggregates, inside)
        elif group.in_tree:
            return False
        return (
            is_inside
            and _bears(node.aggregates, outside)
            and _bears(anchor.aggregates, outside)
        )

    def is_in_tree(self, node: Node, uuid: str) -> bool:
        """Whether ``node`` is in the tree that ``uuid`` is in."""
        other = self.by_uuid.get(uuid)
        return other is not None and self.root(node) == self.root(other)

    def holds(self, request: CandidateRequest, chosen: tuple[Entry, ...]) -> bool:
        """Whether entries that suit each group suit the whole request."""
        used = {
            g.suffix: {node.uuid for node, _ in entry}
            for g, entry in zip(request.groups, chosen, strict=True)
        }
        whole = [uuid for suffix, uuids in used.items() if suffix for uuid in uuids]
        if request.isolate and len(set(whole)) != len(whole):
            return False
        for suffixes in request.same_subtrees:
            members = {uuid for suffix in suffixes for uuid in used[suffix]}
            if not any(
                all(top in self.ancestors(uuid) for uuid in members) for top in members
            ):
                return False
        allocations, _ = _answer(request, chosen)
        giving = {uuid for uuid, _, _ in allocations}
        homes = [self.root(self.by_uuid[uuid]).uuid for uuid in giving]
        if not request.nested and len(set(homes)) != len(homes):
            return False
        return all(_can_bear(self.by_uuid[u], rc, n) for u, rc, n in allocations)

    def ancestors(self, uuid: str) -> set[str]:
        """``uuid`` and all above it."""
        found, current = {uuid}, self.by_uuid[uuid]
        while current.parent is not None:
            current = self.by_uuid[current.parent]
            found.add(current.uuid)
        return found

    def summarized(self, request: CandidateRequest, answers: set[Answer]) -> set[str]:
        """The providers that the summaries of ``answers`` must speak of."""
        giving = {uuid for allocations, _ in answers for uuid, _, _ in allocations}
        if not request.nested:
            return giving
        roots = {self.root(self.by_uuid[uuid]).uuid for uuid in giving}
        return {node.uuid for node in self.nodes if self.root(node).uuid in roots}


def _bears(names: tuple[str, ...], labels: Labels) -> bool:
    return all(wanted & set(names) for wanted in labels.required) and not (
        labels.forbidden & set(names)
    )


def _capacity(node: Node, rc: str) -> float:
    inventory = node.has[rc]
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


def _has_room(node: Node, rc: str, amount: int) -> bool:
    inventory = node.has.get(rc)
    return (
        inventory is not None
        and node.used.get(rc, 0) + amount <= _capacity(node, rc)
        and inventory.min_unit <= amount <= inventory.max_unit
        and amount % inventory.step_size == 0
    )


def _can_bear(node: Node, rc: str, total: int) -> bool:
    is_within = node.used.get(rc, 0) + total <= int(_capacity(node, rc))
    return is_within and total <= node.has[rc].max_unit


def _answer(request: CandidateRequest, chosen: tuple[Entry, ...]) -> Answer:
    sums: Counter[tuple[str, str]] = Counter()
    mappings = set()
    for group, entry in zip(request.groups, chosen, strict=True):
        for node, rc in entry:
            mappings.add((group.suffix, node.uuid))
            if rc is not None:
                sums[node.uuid, rc] += group.resources[rc]
    return frozenset((u, rc, n) for (u, rc), n in sums.items()), frozenset(mappings)
