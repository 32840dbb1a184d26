"""Why a query for allocation candidates is empty: frozen views.

Separate from the other answers because they have their own vocabulary. A constraint is
evaluated within its group, a group within the request: ``passed`` counts what meets it,
``removed_alone`` what would remain without this single constraint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.model.quantities import amount_text, less_text

MOST_NAMES: Final = 10
_COMPARED: Final = 500
"""Names on either side, in their order: to compare is slow."""
MOST_CONSTRAINTS: Final = 100

Kind: TypeAlias = Literal[
    "amount",
    "required",
    "forbidden",
    "member_of",
    "not_member_of",
    "in_tree",
    "nothing",
    "root_required",
    "root_forbidden",
    "together",
    "nested",
    "isolate",
    "same_subtree",
    "instances",
    "hint",
    "server_group",
    "extra_spec",
    "image_property",
    "networks",
    "page_size",
    "thread_policy",
    "pci_affinity",
    "numa_nodes",
    "cpu_policy",
    "devices",
    "pci_requests",
    "numa_topology",
    "zone",
    "ignore_hosts",
    "retry_hosts",
    "requested_host",
    "cell",
    "force_hosts",
    "force_nodes",
    "filter",
    "label",
    "not_label",
]
"""What a constraint is about; from "instances" on, those that only a request for hosts
has."""


class Count(Struct, frozen=True):
    """So many providers, and so many trees that contain or reach them.

    ``providers`` None: it applies to trees as a whole.
    """

    providers: int | None
    trees: int


class Constraint(Struct, frozen=True):
    """One constraint of the request.

    ``names``: a resource class (with ``amount``), alternatives of traits or aggregates,
    a provider, or suffixes. ``unknown``: names in it that do not exist.
    """

    kind: Kind
    names: tuple[str, ...]
    passed: Count
    removed_alone: Count
    amount: int | None = None
    unknown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The constraint as text."""
        return wording(self.kind, self.names, self.amount)


class GroupDiagnosis(Struct, frozen=True):
    """``passed``: providers that meet all ``constraints`` of the group;
    ``removed_alone``: trees in which everything but this group could be met."""

    suffix: str
    passed: Count
    removed_alone: Count
    constraints: tuple[Constraint, ...]


class Lack(Struct, frozen=True):
    """What one provider lacks for the group ``suffix`` (None: the request).

    ``missing``: the requested amount of a class less the largest that it could supply.
    """

    provider_uuid: str
    provider_name: str
    suffix: str | None
    kind: Kind
    names: tuple[str, ...]
    text: str
    missing: int | None = None


class Miss(Struct, frozen=True):
    """A tree that comes close, by its root, and all that it lacks."""

    tree: str
    lacks: tuple[Lack, ...]


class Relaxation(Struct, frozen=True):
    """One constraint to give up. ``lowered``: the amount, or how many instances, to
    ask for instead of ``amount``; None: ask nothing. ``suffix`` None: of the whole
    request."""

    kind: Kind
    suffix: str | None
    names: tuple[str, ...] = ()
    amount: int | None = None
    lowered: int | None = None

    @property
    def text(self) -> str:
        """The change as text."""
        where = f" in group {self.suffix}" if self.suffix else ""
        if self.lowered is not None:
            name, amount = self.names[0], self.amount or 0
            asked = less_text(name, self.lowered, amount)
            what = "devices " if self.kind == "devices" else ""
            return f"ask for {asked} {what}{name}{where}"
        if self.kind in _REMEDIES:
            return _REMEDIES[self.kind].format(", ".join(some(self.names)))
        what = wording(self.kind, self.names, self.amount)
        if self.kind not in ("amount", "required"):
            what = f"the condition: {what}"
        return f"ask without {what}{where}"


class Diagnosis(Struct, frozen=True):
    """How far a request came.

    ``has_candidates``: whether the search finds any; None: its budget was exhausted.
    ``providers`` and ``trees``: all that there are. ``whole``: constraints on trees as
    a whole; of those, what joins groups was tried on ``walked`` of the ``viable``
    trees: those that meet each group and the root's constraints by themselves.
    ``misses``: the nearest first; ``relaxation``: the smallest that the search
    confirms. ``is_truncated``: a limit ended the search, or the search for a
    relaxation, before the answer was certain.
    """

    has_candidates: bool | None
    providers: int
    trees: int
    viable: int
    walked: int
    groups: tuple[GroupDiagnosis, ...]
    whole: tuple[Constraint, ...]
    misses: tuple[Miss, ...] = ()
    relaxation: Relaxation | None = None
    is_truncated: bool = False


def document(found: Diagnosis) -> dict[str, Any]:
    """``found`` as JSON, with each constraint and the relaxation as text too."""
    body: dict[str, Any] = msgspec.to_builtins(found)
    pairs = [*zip(found.whole, body["whole"], strict=True)]
    for group, shown in zip(found.groups, body["groups"], strict=True):
        pairs += zip(group.constraints, shown["constraints"], strict=True)
    for constraint, shown in pairs:
        shown["text"] = constraint.text
    if found.relaxation is not None:
        body["relaxation"]["text"] = found.relaxation.text
    return body


def some(names: Iterable[str]) -> tuple[str, ...]:
    """The first names, and the number of the others."""
    found = tuple(names)
    more = len(found) - MOST_NAMES
    return found if more <= 0 else (*found[:MOST_NAMES], f"{more} more")


def nearest(asked: str, known: Iterable[str]) -> str:
    """Names of ``known`` that are like ``asked``, or the first, and how many more there
    are."""
    every = sorted(set(known))
    at = bisect_left(every, asked)
    around = every[max(0, at - _COMPARED) : at + _COMPARED]
    named = get_close_matches(asked, around, MOST_NAMES, 0.5) or every[:MOST_NAMES]
    more = len(every) - len(named)
    return (", ".join(named) + (f" and {more} more" if more else "")) or "none"


def shortened(found: Diagnosis) -> Diagnosis:
    """``found`` abridged for very large requests: some names of each constraint, and of
    many constraints of a group those that alone remove the most."""
    relaxation = found.relaxation
    if relaxation is not None:
        relaxation = replace(relaxation, names=some(relaxation.names))
    return replace(
        found,
        groups=tuple(
            replace(group, constraints=_shortened(group.constraints))
            for group in found.groups
        ),
        whole=_shortened(found.whole),
        misses=tuple(
            replace(
                miss,
                lacks=tuple(
                    replace(lack, names=some(lack.names))
                    for lack in miss.lacks[:MOST_CONSTRAINTS]
                ),
            )
            for miss in found.misses
        ),
        relaxation=relaxation,
    )


def _shortened(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    if len(constraints) > MOST_CONSTRAINTS:
        by_weight = sorted(constraints, key=lambda one: -one.removed_alone.trees)
        constraints = tuple(by_weight[:MOST_CONSTRAINTS])
    return tuple(
        replace(one, names=some(one.names), unknown=some(one.unknown))
        for one in constraints
    )


_OPENINGS: dict[Kind, str] = {
    "required": "trait",
    "forbidden": "not trait",
    "member_of": "in aggregate",
    "not_member_of": "not in aggregate",
    "in_tree": "in the tree of",
    "root_required": "the root has trait",
    "root_forbidden": "the root has not trait",
}
_SENTENCES: dict[Kind, str] = {
    "nothing": "neither resources, nor a required trait, nor member_of",
    "together": "all groups together, with what is left after each",
    "nested": "one provider per tree (before microversion 1.29)",
    "isolate": "groups on different providers (group_policy isolate)",
}


_REMEDIES: dict[Kind, str] = {
    "nested": "ask at microversion 1.29 or later",
    "isolate": "ask with group_policy none",
    "hint": "leave out the hint {}",
    "server_group": "ask without the server group",
    "extra_spec": "leave out the extra spec {}",
    "image_property": "leave out the image property {}",
    "networks": "leave out the requested networks",
    "page_size": "ask for any page size (hw:mem_page_size=any)",
    "thread_policy": "let threads be placed freely (hw:cpu_thread_policy=prefer)",
    "pci_affinity": "take devices of any cell (hw:pci_numa_affinity_policy=preferred)",
    "cpu_policy": "ask for shared CPUs (hw:cpu_policy=shared)",
    "pci_requests": "ask without PCI devices",
    "numa_topology": "ask without the NUMA topology",
    "zone": "leave out the availability zone {}",
    "ignore_hosts": "ignore no hosts",
    "retry_hosts": "leave out the hosts that were tried before",
    "requested_host": "leave out the requested host {}",
    "cell": "leave out the cell {}",
    "force_hosts": "force no hosts",
    "force_nodes": "force no nodes",
    "filter": "take {} out of enabled_filters",
    "label": "ask without the label {}",
    "not_label": "allow the label {}",
}


def wording(kind: Kind, names: tuple[str, ...], amount: int | None) -> str:
    """A constraint as text."""
    if kind == "amount":
        return amount_text(names[0], amount or 0)
    if kind == "same_subtree":
        return f"groups {', '.join(some(names))} in one subtree"
    return _SENTENCES.get(kind) or f"{_OPENINGS[kind]} {' or '.join(some(names))}"
