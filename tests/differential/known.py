"""The differences that docs/deviations.md knows, each proved before it is allowed.

Placement's faults in the search are mended in its own running code, one at a time: a
difference is a known one only if it disappears together with its cause. Its ghosts
are allowed where the table says that they appear, and laid before the next step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations
from typing import Any
from unittest import mock

import sqlalchemy as sa
from placement.db.sqlalchemy import models
from placement.objects import allocation_candidate, research_context, trait

from tests.api.wsgi_client import Answer
from tests.differential.step import Step

EMPTY_CLAIM = "B1 (an empty claim leaves a consumer)"
REFUSED_CLAIM = "B2 (a refused claim leaves a consumer)"
CHILD_SHARES = "B3 (a child shares)"
LEAK = "leaks of amounts between groups"
COLLAPSE = "combinations collapsed to one anchor"
CUT_SUMMARIES = "cut answers below 1.29 (fewer summaries)"


# ----------------------------------------------------------------------------- ghosts


def reason_of_ghost(consumer: str, write: Step, answer: Answer) -> str | None:
    """Which known difference left ``consumer`` without allocations, if one did."""
    if answer.status == 204 and not _claim_of(consumer, write):
        return EMPTY_CLAIM
    if answer.status == 400 and any(
        text in answer.detail for text in ("that does not exist", "not found")
    ):
        return REFUSED_CLAIM
    return None


def _claim_of(consumer: str, write: Step) -> Any:
    """What ``write`` wants ``consumer`` to have; the step itself: nothing at all."""
    if write.target == f"/allocations/{consumer}":
        return write.body["allocations"]
    by_consumer = write.body
    if write.target == "/reshaper":
        by_consumer = write.body["allocations"]
    return by_consumer[consumer]["allocations"] if consumer in by_consumer else write


# ----------------------------------------------------------------------------- mends


@contextmanager
def _amounts_do_not_leak() -> Iterator[None]:
    """Groups of one candidate never add up in the entries of another one."""

    def always(_: Any, entry: Any) -> Any:
        return copy.copy(entry)

    search = research_context.RequestWideSearchContext
    with mock.patch.object(search, "copy_arr_if_needed", always):
        yield


@contextmanager
def _spread_groups_keep_their_anchors() -> Iterator[None]:
    """Entries of the unsuffixed group are equal only if their anchors are."""
    entry = allocation_candidate.AllocationRequest
    is_equal, hash_of = entry.__eq__, entry.__hash__

    def equal_here(one: Any, other: Any) -> bool:
        anchors = one.anchor_root_provider_uuid, other.anchor_root_provider_uuid
        return anchors[0] == anchors[1] and bool(is_equal(one, other))

    def around(find: Callable[..., Any], *args: Any) -> Any:
        with (
            mock.patch.object(entry, "__eq__", equal_here),
            mock.patch.object(entry, "__hash__", hash_of),
        ):
            return list(find(*args))

    with _around_spread(around):
        yield


@contextmanager
def _children_may_share() -> Iterator[None]:
    """The trees of sharing children are summarized before any request."""

    def around(find: Callable[..., Any], *args: Any) -> Any:
        group, whole, candidates = args
        context = group.context
        table = models.ResourceProvider.__table__
        asked = sa.select(table.c.root_provider_id).where(
            table.c.id.in_(candidates.all_rps)
        )
        roots = set(context.session.execute(asked).scalars())
        if roots:
            traits = trait.get_traits_by_provider_tree(context, roots)
            allocation_candidate._build_provider_summaries(
                context, whole, roots, traits
            )
        return find(*args)

    with _around_spread(around):
        yield


@contextmanager
def _around_spread(around: Callable[..., Any]) -> Iterator[None]:
    """Let ``around`` call the search for the unsuffixed group."""
    name = "_alloc_candidates_multiple_providers"
    find = getattr(allocation_candidate, name)

    def wrapped(*args: Any) -> Any:
        return around(find, *args)

    with mock.patch.object(allocation_candidate, name, wrapped):
        yield


MENDS = {
    LEAK: _amounts_do_not_leak,
    COLLAPSE: _spread_groups_keep_their_anchors,
    CHILD_SHARES: _children_may_share,
}


def mended_ways() -> Iterator[tuple[str, ...]]:
    """Every choice of faults to mend, small ones first."""
    for count in range(1, len(MENDS) + 1):
        yield from combinations(MENDS, count)


@contextmanager
def mended(names: tuple[str, ...]) -> Iterator[None]:
    """Placement without the faults called ``names``."""
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(MENDS[name]())
        yield
