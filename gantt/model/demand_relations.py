"""Relations of a demand in plain words: which of its items are spread over domains, and
what they are near to or apart from.

A key is a label of hosts (rack, row), whose values are domains; by the key ``host``
each host is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from gantt.errors import Invalid
from gantt.model.bounds import MAX_NAME, Count, Name
from gantt.model.names import on_one_line
from gantt.model.relations import HOST, Relation, RelationKind, is_label

_TO: Final = frozenset({"near", "apart"})
_MAY_BE_SOFT: Final = frozenset({"spread", "near"})
_MOST_ITEMS: Final = 1_000
"""That one relation may name."""


class ItemRelation(Struct, frozen=True, forbid_unknown_fields=True):
    """``kind``: ``spread``: no domain of ``key`` has more than ``most`` things beyond
    the domain with the least; with fewer than ``min_domains`` of them the least counts
    as 0. ``distinct``: no domain has more than ``most``. ``near``: each thing is in a
    domain that has something called ``to``; ``apart``: in none of these. ``to``: an
    item of the demand, one thing of it, or what was placed before. ``items``: of which
    items it is said; empty: of all (but ``to``), which are counted together. ``soft``:
    only as far as it costs no host."""

    kind: RelationKind
    key: Name
    to: Annotated[str, Meta(max_length=MAX_NAME)] = ""
    items: Annotated[tuple[Name, ...], Meta(max_length=_MOST_ITEMS)] = ()
    most: Count = 1
    min_domains: Count = 1
    soft: bool = False

    def __repr__(self) -> str:
        return on_one_line(super().__repr__())

    @property
    def relation(self) -> Relation:
        """What the scheduler reads of it, without what it compares with."""
        return Relation(self.kind, self.key, self.most, self.min_domains, not self.soft)

    @property
    def text(self) -> str:
        """Such as ``near db-1 by row``."""
        return " ".join(filter(None, (self.kind, self.to, "by", self.key)))

    def wrong(self, field: str, what: str) -> Invalid:
        """The refusal of a field."""
        return Invalid(f"Relation {self.text!r}, {field}: {what}.")


def spread(
    key: str,
    max_skew: int = 1,
    *,
    min_domains: int = 1,
    soft: bool = False,
    items: Iterable[str] = (),
) -> ItemRelation:
    """No domain of ``key`` has more than ``max_skew`` things of ``items`` (empty: of
    all) beyond the domain that has the least: ``spread("rack")``. With fewer domains
    than ``min_domains`` the least counts as 0. ``soft``: only as far as it costs no
    host."""
    given = tuple(items), max_skew, min_domains, soft
    return ItemRelation("spread", key, "", *given)


def distinct(key: str, at_most: int = 1, *, items: Iterable[str] = ()) -> ItemRelation:
    """No domain of ``key`` has more than ``at_most`` things of ``items`` (empty: of
    all)."""
    return ItemRelation("distinct", key, "", tuple(items), at_most)


def near(
    name: str, key: str = HOST, *, soft: bool = False, items: Iterable[str] = ()
) -> ItemRelation:
    """Each thing of ``items`` (empty: of all others) is in a domain of ``key`` that has
    something called ``name``: ``near("db-1", "row")``. ``soft``: only as far as it
    costs no host."""
    return ItemRelation("near", key, name, tuple(items), soft=soft)


def apart(name: str, key: str = HOST, *, items: Iterable[str] = ()) -> ItemRelation:
    """Each thing of ``items`` (empty: of all others) is in a domain of ``key`` that has
    nothing called ``name``: ``apart("cache", "rack")``."""
    return ItemRelation("apart", key, name, tuple(items))


def bound(relation: ItemRelation, items: Mapping[str, Sequence[str]]) -> list[str]:
    """The items of which it is said, each once. ``items``: what the things of each are
    called."""
    to = item_of(relation.to, items)
    return [one for one in dict.fromkeys(relation.items or items) if one != to]


def item_of(name: str, items: Mapping[str, Sequence[str]]) -> str:
    """The item that is called so, or one of whose things is; "": there is none."""
    if name in items:
        return name
    return next((item for item, names in items.items() if name in names), "")


def check_relations(
    relations: Sequence[ItemRelation], items: Mapping[str, Sequence[str]]
) -> None:
    """Raises Invalid, which names relation and field, for what can never be."""
    for one in relations:
        _check(one, items)
    _check_cycles(relations, items)
    _check_contradictions(relations, items)


def _check(one: ItemRelation, items: Mapping[str, Sequence[str]]) -> None:
    if not is_label(one.key):
        raise one.wrong("key", f"{one.key!r} is no label: write rack, row or host")
    if bool(one.to) is not (one.kind in _TO):
        raise one.wrong("to", "near and apart have a name, spread and distinct none")
    if one.soft and one.kind not in _MAY_BE_SOFT:
        raise one.wrong("soft", f"{one.kind} is always hard")
    if one.kind in _TO and one.most != 1:
        raise one.wrong("most", "only spread and distinct have it")
    if one.min_domains > 1 and (one.kind != "spread" or one.soft):
        raise one.wrong("min_domains", "only a hard spread has it")
    for name in one.items:
        if name not in items:
            known = ", ".join(sorted(items))
            raise one.wrong("items", f"{name!r} is no item here; there is {known}")
    to = item_of(one.to, items) if one.to else ""
    if to in one.items or not bound(one, items):
        raise one.wrong("to", f"{to!r} cannot be {one.kind} itself")


def _check_cycles(
    relations: Sequence[ItemRelation], items: Mapping[str, Sequence[str]]
) -> None:
    """Which of two is placed first must be clear: ``near`` says the other one is."""
    after = {name: set[str]() for name in items}
    for one in relations:
        to = item_of(one.to, items) if one.kind == "near" else ""
        for name in bound(one, items) if to else ():
            if to == name or name in _reached(after, to):
                raise one.wrong(
                    "to",
                    f"{name!r} is near {to!r}, and that is near {name!r}: a cycle of "
                    "relations; say it once, of one of them",
                )
            after[name].add(to)


def _reached(after: Mapping[str, set[str]], start: str) -> set[str]:
    found, left = set[str](), [start]
    while left:
        new = after[left.pop()] - found
        found |= new
        left += new
    return found


def _check_contradictions(
    relations: Sequence[ItemRelation], items: Mapping[str, Sequence[str]]
) -> None:
    """``near`` by host is near by each key."""
    close = {
        (name, one.to, one.key): one
        for one in relations
        if one.kind == "near" and not one.soft
        for name in bound(one, items)
    }
    for one in relations:
        for name in bound(one, items) if one.kind == "apart" else ():
            other = close.get((name, one.to, one.key)) or close.get(
                (name, one.to, HOST)
            )
            if other is not None:
                raise one.wrong(
                    "items", f"{name!r} cannot be so and {other.text!r} at once"
                )


def depths(
    relations: Sequence[ItemRelation], items: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """How many items must have their place before each: those that it is near, or from
    one thing of which it is apart."""
    found = dict.fromkeys(items, 0)
    pairs = [
        (name, item_of(one.to, items))
        for one in relations
        if one.to and (one.kind == "near" or one.to not in items)
        for name in bound(one, items)
    ]
    for _ in items if pairs else ():
        for name, to in pairs:
            if to:
                found[name] = max(found[name], found[to] + 1)
    return found
