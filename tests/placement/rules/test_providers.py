"""Providers: the wire contract's words, its order of checks, its generations."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from gantt.errors import (
    DuplicateName,
    GanttError,
    Invalid,
    NotFound,
    ProviderHasChildren,
    ProviderInUse,
)
from gantt.model.answers import Provider
from gantt.model.commands import (
    Command,
    CreateProvider,
    DeleteProvider,
    SetAggregates,
    SetTraits,
    UpdateProvider,
)
from gantt.placement import queries
from tests.placement.desk import ABSENT, CHILD, HOST, LEAF, OTHER, furnished, put

UNABLE = f"Unable to save resource provider {CHILD}: Object action"
NEW = "55555555-5555-4555-8555-555555555555"
UNCREATED = f'Unable to create resource provider "n", {NEW}: Object action create'

REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    (
        CreateProvider(HOST, "n"),
        DuplicateName,
        f"Conflicting resource provider uuid: {HOST} already exists.",
    ),
    (
        CreateProvider(NEW, "host"),
        DuplicateName,
        "Conflicting resource provider name: host already exists.",
    ),
    (
        CreateProvider(HOST, "other"),
        DuplicateName,
        f"Conflicting resource provider uuid: {HOST} already exists.",
    ),
    (
        CreateProvider(NEW, "n", ABSENT),
        Invalid,
        f"{UNCREATED} failed because: parent provider UUID does not exist.",
    ),
    (
        CreateProvider(NEW, "n", NEW),
        Invalid,
        f"{UNCREATED} failed because: parent provider UUID cannot be same as UUID. "
        "Please set parent provider UUID to None if there is no parent.",
    ),
    (
        CreateProvider(HOST, "n", ABSENT),  # the parent is looked up first
        Invalid,
        f'Unable to create resource provider "n", {HOST}: Object action create failed '
        "because: parent provider UUID does not exist.",
    ),
    (
        UpdateProvider(ABSENT, "n"),
        NotFound,
        f"No resource provider with uuid {ABSENT} found",
    ),
    (
        UpdateProvider(CHILD, "host"),
        DuplicateName,
        "Conflicting resource provider host already exists.",
    ),
    (
        UpdateProvider(CHILD, "host", ABSENT),
        Invalid,
        f"{UNABLE} create failed because: parent provider UUID does not exist.",
    ),
    (
        UpdateProvider(CHILD, "child", OTHER, may_move=False),
        Invalid,
        f"{UNABLE} update failed because: "
        "re-parenting a provider is not currently allowed.",
    ),
    (
        UpdateProvider(CHILD, "child", None, may_move=False),
        Invalid,
        f"{UNABLE} update failed because: "
        "un-parenting a provider is not currently allowed.",
    ),
    (
        UpdateProvider(CHILD, "child", LEAF, may_move=False),  # moving is judged first
        Invalid,
        f"{UNABLE} update failed because: "
        "re-parenting a provider is not currently allowed.",
    ),
    (
        UpdateProvider(CHILD, "child", LEAF),
        Invalid,
        f"{UNABLE} update failed because: "
        "creating loop in the provider tree is not allowed.",
    ),
    (
        UpdateProvider(CHILD, "child", CHILD),
        Invalid,
        f"{UNABLE} update failed because: "
        "creating loop in the provider tree is not allowed.",
    ),
    (
        UpdateProvider(
            HOST, "host", LEAF, may_move=False
        ),  # a root may, at any version
        Invalid,
        f"Unable to save resource provider {HOST}: Object action update failed "
        "because: creating loop in the provider tree is not allowed.",
    ),
    (
        DeleteProvider(ABSENT),
        NotFound,
        f"No resource provider with uuid {ABSENT} found for delete",
    ),
    (
        DeleteProvider(HOST),
        ProviderHasChildren,
        f"Unable to delete parent resource provider {HOST}: "
        "It has child resource providers.",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


def test_allocations_forbid_deletion_after_children_do() -> None:
    desk = furnished()
    desk.do(put("c", {OTHER: {"VCPU": 1}, HOST: {"VCPU": 1}}))
    assert desk.refusal(DeleteProvider(OTHER), ProviderInUse) == (
        f"Unable to delete resource provider {OTHER}: "
        "Resource provider has allocations."
    )
    desk.refusal(DeleteProvider(HOST), ProviderHasChildren)


def test_a_new_provider_stands_at_generation_0() -> None:
    desk = furnished()
    assert desk.do(CreateProvider(NEW, "n", LEAF)) == Provider(
        NEW, "n", 0, LEAF, HOST, desk.now
    )


def test_deleting_takes_inventory_and_labels_along() -> None:
    desk = furnished()
    desk.do(SetTraits(OTHER, ("CUSTOM_GOLD",)), SetAggregates(OTHER, ("a",)))
    desk.do(DeleteProvider(OTHER))
    assert queries.provider(desk.state, OTHER) is None
    assert [row.name for row in desk.state.rows("placement_aggregates")] == ["a"]  # type: ignore[union-attr]
    answer = desk.do(CreateProvider(OTHER, "other"))
    assert answer.generation == 0
    for view in (queries.inventories, queries.traits, queries.aggregates):
        found = view(desk.state, OTHER)
        assert found is not None
        assert found.generation == 0
        assert not getattr(found, view.__name__)


MOVES = [
    # (parent to give CHILD, may move, parent then, root then of CHILD and LEAF)
    (UNSET, False, HOST, HOST),
    (HOST, False, HOST, HOST),
    (OTHER, True, OTHER, OTHER),
    (None, True, None, CHILD),
]


@pytest.mark.parametrize(("parent", "may_move", "then", "root"), MOVES)
def test_a_move_takes_the_subtree_along_and_no_generation(
    parent: object, may_move: bool, then: str | None, root: str
) -> None:
    desk = furnished()
    answer = desk.do(UpdateProvider(CHILD, "renamed", parent, may_move))  # type: ignore[arg-type]
    assert answer == Provider(CHILD, "renamed", 0, then, root, desk.now)
    leaf = queries.provider(desk.state, LEAF)
    assert leaf is not None
    assert (leaf.parent_uuid, leaf.root_uuid, leaf.generation) == (CHILD, root, 0)
    assert desk.generation(HOST) == desk.generation(OTHER) == 1


@pytest.mark.parametrize("may_move", [True, False])
def test_a_root_may_get_a_parent_at_any_version(may_move: bool) -> None:
    desk = furnished()
    desk.do(UpdateProvider(HOST, "host", OTHER, may_move))
    for uuid in (HOST, CHILD, LEAF):
        found = queries.provider(desk.state, uuid)
        assert found is not None
        assert found.root_uuid == OTHER


@pytest.mark.parametrize("may_move", [True, False])
def test_no_parent_for_a_root_is_no_move(may_move: bool) -> None:
    desk = furnished()
    assert desk.do(UpdateProvider(HOST, "host", None, may_move)).root_uuid == HOST


def test_a_name_that_was_given_up_is_free() -> None:
    desk = furnished()
    desk.do(UpdateProvider(HOST, "new"), UpdateProvider(OTHER, "host"))
    desk.do(UpdateProvider(HOST, "new"))
    desk.refusal(CreateProvider(NEW, "new"), DuplicateName)


def test_providers_with_allocations_may_move() -> None:
    desk = furnished()
    desk.do(put("c", {HOST: {"VCPU": 1}}), UpdateProvider(HOST, "host", OTHER))
    assert desk.generation(HOST) == 2
