"""Small worlds for searches: a provider per Node, and the State of them all.

The uuid of a node is its name, so that a test reads like a drawing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import os_resource_classes
from msgspec import Struct

from gantt.model import commands as c
from gantt.model.changes import Cursor
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.survey import survey
from gantt.placement.rules import plan
from gantt.state.state import State

SHARES = SHARES_VIA_AGGREGATE
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_NUMA_ROOT", SHARES)


class Node(Struct, frozen=True):
    """One provider, what it has, and what is used of that."""

    uuid: str
    parent: str | None = None
    has: dict[str, c.Inventory] = {}
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    used: dict[str, int] = {}


def node(
    uuid: str,
    parent: str | None = None,
    *,
    traits: str = "",
    aggregates: str = "",
    used: dict[str, int] | None = None,
    **has: int | c.Inventory,
) -> Node:
    """A Node; a bare number is an inventory of that total."""
    return Node(
        uuid,
        parent,
        {
            name: c.Inventory(total, max_unit=total)
            if isinstance(total, int)
            else total
            for name, total in has.items()
        },
        tuple(traits.split()),
        tuple(aggregates.split()),
        used or {},
    )


def world(nodes: Iterable[Node]) -> State:
    """A State in which ``nodes`` were created in their order."""
    state = State()
    do(state, c.SyncNames(tuple(os_resource_classes.STANDARDS), TRAITS))
    for each in nodes:
        do(state, c.CreateProvider(each.uuid, each.uuid, each.parent))
        for trait in each.traits:
            if trait.startswith("CUSTOM_"):
                do(state, c.CreateTrait(trait))
        for name in each.has:
            if name.startswith("CUSTOM_"):
                do(state, c.CreateResourceClass(name))
        do(state, c.SetInventories(each.uuid, each.has))
        do(state, c.SetTraits(each.uuid, each.traits))
        do(state, c.SetAggregates(each.uuid, each.aggregates))
        if each.used:
            consumer = c.ConsumerAllocations(
                f"user-of-{each.uuid}", {each.uuid: each.used}, "project", "user", None
            )
            do(state, c.SetAllocations((consumer,)))
    return state


def group(
    suffix: str = "",
    *,
    required: str = "",
    forbidden: str = "",
    member_of: str = "",
    not_member_of: str = "",
    in_tree: str | None = None,
    **resources: int,
) -> RequestGroup:
    """A RequestGroup; ``required="A|B C"`` is (A or B) and C."""
    return RequestGroup(
        suffix,
        resources,
        labels(required, forbidden),
        labels(member_of, not_member_of),
        in_tree,
    )


def labels(required: str = "", forbidden: str = "") -> Labels:
    """Labels in the same shorthand."""
    return Labels(
        tuple(frozenset(names.split("|")) for names in required.split()),
        frozenset(forbidden.split()),
    )


def ask(
    *groups: RequestGroup,
    root_required: str = "",
    root_forbidden: str = "",
    same_subtree: Iterable[str] = (),
    limit: int | None = None,
    isolate: bool = False,
    nested: bool = True,
    generation_limit: int | None = None,
    breadth_first: bool = False,
    randomize: bool = False,
) -> CandidateRequest:
    """A CandidateRequest; each of ``same_subtree`` names suffixes by spaces."""
    return CandidateRequest(
        groups,
        limit,
        isolate,
        labels(root_required, root_forbidden),
        tuple(frozenset(names.split()) for names in same_subtree),
        nested,
        generation_limit,
        breadth_first,
        randomize,
    )


def viable(state: State, request: CandidateRequest) -> list[int]:
    """Rows of the roots that may match, as a scheduler hears of them."""
    found = survey(state, request, Budget())
    rows = np.arange(state.providers.height)
    return [int(row) for row in rows[found.viable_at(rows)]]


def do(state: State, command: c.Command[object]) -> None:
    """Decide ``command`` and take in what it changes."""
    changes = plan(state, command, 0).changes
    if changes:
        state.apply(changes, Cursor(state.revision + 1, "test"))
