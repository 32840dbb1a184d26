"""The candidate request of a spec, while it is being built.

The one mutable object between a RequestSpec and its candidate requests: flavor, image,
ports and devices each add their part, later ones see earlier ones, and ``groups`` makes
the frozen value. Separate from ``shape`` because its terms are those of Placement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from gantt.errors import Invalid
from gantt.model.diagnosis import some
from gantt.model.requests import Labels, RequestGroup
from gantt.model.spec import ResourceGroup

_KEY: Final = re.compile(r"\A(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)\Z", re.DOTALL)
_AMOUNT: Final = re.compile(r"\A\s*\+?[0-9]{1,18}\s*\Z", re.ASCII)
_POLICIES: Final = {"none": False, "isolate": True}


class DraftGroup:
    """One request group. An amount of 0 is kept to the end: it means "none of it"."""

    __slots__ = (
        "aggregates",
        "amounts",
        "forbidden",
        "forbidden_aggregates",
        "in_tree",
        "required",
    )

    def __init__(self) -> None:
        self.amounts: dict[str, int] = {}
        self.required: set[str] = set()
        self.forbidden: set[str] = set()
        self.aggregates: tuple[frozenset[str], ...] = ()
        self.forbidden_aggregates: frozenset[str] = frozenset()
        self.in_tree: str | None = None

    @property
    def has_amounts(self) -> bool:
        return any(self.amounts.values())

    @property
    def is_empty(self) -> bool:
        """Whether it has neither amounts nor constraints."""
        return not (
            self.has_amounts
            or self.required
            or self.forbidden
            or self.aggregates
            or self.forbidden_aggregates
        )

    def group(self, suffix: str) -> RequestGroup:
        """The frozen value, without amounts of 0."""
        return RequestGroup(
            suffix,
            {name: amount for name, amount in self.amounts.items() if amount},
            _labels(((name,) for name in sorted(self.required)), self.forbidden),
            _labels(self.aggregates, self.forbidden_aggregates),
            self.in_tree,
        )


class RequestDraft:
    """All request groups, by suffix; "" is the one whose resources may come from
    several providers. ``isolate`` None: no group policy was given."""

    def __init__(self) -> None:
        self.parts: dict[str, DraftGroup] = {"": DraftGroup()}
        self.isolate: bool | None = None

    @property
    def main(self) -> DraftGroup:
        return self.parts[""]

    @property
    def suffixed(self) -> list[tuple[str, DraftGroup]]:
        """Groups with a suffix that are not empty, by suffix."""
        return [
            (suffix, self.parts[suffix])
            for suffix in sorted(self.parts)
            if suffix and not self.parts[suffix].is_empty
        ]

    def part(self, suffix: str) -> DraftGroup:
        """The group with this suffix, made when it is new."""
        found = self.parts.get(suffix)
        if found is None:
            found = self.parts[suffix] = DraftGroup()
        return found

    def named(self, resource_class: str) -> bool:
        """Whether any group names this class, 0 included."""
        return any(resource_class in part.amounts for part in self.parts.values())

    def total(self, resource_class: str) -> int:
        return sum(part.amounts.get(resource_class, 0) for part in self.parts.values())

    def join(self, group: ResourceGroup) -> None:
        """Add a group of a port or device. Raises Invalid."""
        if not group.use_same_provider:
            self._merge(self.main, group)
            return
        suffix = group.requester_id
        if not suffix:
            raise Invalid(
                f"a requested resource group ({', '.join(some(group.resources))}) has "
                "no requester_id: "
                "give one, which becomes the suffix of its group"
            )
        if suffix in self.parts:
            raise Invalid(
                f"two request groups are called {suffix!r}: give each requested "
                "resource group a requester_id of its own, unlike the suffixes that "
                "the flavor uses"
            )
        part = self.part(suffix)
        self._merge(part, group)
        if part.is_empty:
            raise Invalid(
                f"the requested resource group {suffix!r} asks for nothing: give it "
                "resources, or leave it out"
            )

    @staticmethod
    def _merge(part: DraftGroup, group: ResourceGroup) -> None:
        for name, amount in group.resources.items():
            part.amounts[name] = part.amounts.get(name, 0) + amount
        part.required |= group.required_traits
        part.forbidden |= group.forbidden_traits
        part.aggregates += group.aggregates
        part.forbidden_aggregates |= group.forbidden_aggregates
        part.in_tree = group.in_tree or part.in_tree


def _labels(required: Iterable[Iterable[str]], forbidden: Iterable[str]) -> Labels:
    return Labels(tuple(map(frozenset, required)), frozenset(forbidden))


def take_in_groups(extra_specs: Mapping[str, str], demand: RequestDraft) -> None:
    """Add the groups of a flavor's extra specs. Raises Invalid, with the key, where
    Nova logs a warning: the request would not get what its flavor specifies."""
    for key, value in extra_specs.items():
        # Most keys are others: cheap checks come first.
        if key == "group_policy":
            demand.isolate = _policy(value)
        elif key.startswith(("resources", "trait")):
            found = group_key(key)
            if found is None:
                continue
            prefix, suffix, name = found
            part = demand.part(suffix)
            if prefix == "resources":
                part.amounts[name] = _amount(key, value)
            elif _is_required(key, value):
                part.required.add(name)
            else:
                part.forbidden.add(name)


def group_key(key: str) -> tuple[str, str, str] | None:
    """("resources" or "trait", suffix, name); None: the key is about something else."""
    found = _KEY.match(key) if key.startswith(("resources", "trait")) else None
    return None if found is None else (found[1], found[2] or "", found[3])


def _amount(key: str, value: object) -> int:
    if not _AMOUNT.match(str(value)):
        raise Invalid(
            f"extra spec {key}={value!r} is not an amount: give a whole number, "
            "0 or more"
        )
    return int(str(value))


def _is_required(key: str, value: str) -> bool:
    if value not in ("required", "forbidden"):
        raise Invalid(
            f"extra spec {key}={value!r} says nothing about a trait: give required "
            "or forbidden"
        )
    return value == "required"


def _policy(value: str) -> bool:
    if value not in _POLICIES:
        raise Invalid(f"extra spec group_policy={value!r}: give none or isolate")
    return _POLICIES[value]
