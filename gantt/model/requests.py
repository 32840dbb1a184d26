"""Queries. Differences between microversions are resolved before these."""

from __future__ import annotations

from msgspec import Struct


class Labels(Struct, frozen=True):
    """Traits or aggregates that something must and must not have.

    ``required`` is a conjunction of alternatives: at least one name of each set.
    """

    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)


class ProviderQuery(Struct, frozen=True):
    """Which providers to list; all given fields must match."""

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    resources: dict[str, int] = {}
    traits: Labels = Labels()
    member_of: Labels = Labels()


class TraitQuery(Struct, frozen=True):
    """``names``: exactly these; ``prefix``: starts with, case ignored;
    ``is_associated``: of some provider, or of none."""

    names: frozenset[str] | None = None
    prefix: str | None = None
    is_associated: bool | None = None


class UsageQuery(Struct, frozen=True):
    """Whose usages to sum.

    ``by_type``: answer per consumer type; ``consumer_type`` narrows to one type,
    ``"unknown"`` to consumers without one, ``"all"`` to a single sum over all types.
    """

    project_id: str
    user_id: str | None = None
    consumer_type: str | None = None
    by_type: bool = False


class RequestGroup(Struct, frozen=True):
    """Resources of one group, and the requirements for their providers."""

    suffix: str = ""
    resources: dict[str, int] = {}
    traits: Labels = Labels()
    member_of: Labels = Labels()
    in_tree: str | None = None


class CandidateRequest(Struct, frozen=True):
    """A request for allocation candidates.

    ``limit``: at most so many answers (None: all). ``isolate``: suffixed groups on
    pairwise different providers. ``root_traits``: required and forbidden traits of the
    root. ``same_subtrees``: each a set of suffixes whose providers share a subtree.
    ``nested``: answers may use several providers of one tree, and summaries hold whole
    trees (microversion 1.29). ``generation_limit``: stop generating after so many
    (None: never); ``breadth_first``: take from each root in turn. ``randomize``: answer
    a sample.
    """

    groups: tuple[RequestGroup, ...]
    limit: int | None = None
    isolate: bool = False
    root_traits: Labels = Labels()
    same_subtrees: tuple[frozenset[str], ...] = ()
    nested: bool = True
    generation_limit: int | None = None
    breadth_first: bool = False
    randomize: bool = False
