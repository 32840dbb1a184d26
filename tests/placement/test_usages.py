"""Sums over consumers by project, user and type."""

from __future__ import annotations

import pytest

from gantt.model.answers import TypeUsages
from gantt.model.changes import Change, Cursor
from gantt.model.requests import UsageQuery
from gantt.model.rows import AllocationRow
from gantt.placement.usages import total_usages
from tests.placement.desk import ALICE, BOB, CAROL, HOST, OTHER, Desk, furnished, put

ALL = TypeUsages(3, {"VCPU": 7, "MEMORY_MB": 10})
INSTANCE = TypeUsages(1, {"VCPU": 4, "MEMORY_MB": 10})
CAPITALS = TypeUsages(1, {"VCPU": 1})
UNTYPED = TypeUsages(1, {"VCPU": 2})
BY_TYPE = {"INSTANCE": INSTANCE, "ALL": CAPITALS, "unknown": UNTYPED}


@pytest.fixture(scope="module")
def desk() -> Desk:
    desk = furnished()
    both = {HOST: {"MEMORY_MB": 10, "VCPU": 3}, OTHER: {"VCPU": 1}}
    desk.do(
        put(ALICE, both, consumer_type="INSTANCE"),
        put(BOB, {HOST: {"VCPU": 2}}, user_id="u2"),
        put(CAROL, {HOST: {"VCPU": 1}}, consumer_type="ALL"),
        put("d", {HOST: {"VCPU": 1}}, project_id="p2", consumer_type="INSTANCE"),
    )
    return desk


QUERIES = [
    (UsageQuery("project"), {"all": ALL}),
    (
        UsageQuery("project", "user"),
        {"all": TypeUsages(2, {"VCPU": 5, "MEMORY_MB": 10})},
    ),
    (UsageQuery("project", "u2"), {"all": UNTYPED}),
    (UsageQuery("p2"), {"all": TypeUsages(1, {"VCPU": 1})}),
    (UsageQuery("nobody"), {}),
    (UsageQuery("project", "nobody"), {}),
    (UsageQuery("p2", "u2"), {}),
    (UsageQuery("project", by_type=True), BY_TYPE),
    # T36: lower case is a keyword, upper case a type like any other
    (UsageQuery("project", None, "all", True), {"all": ALL}),
    (UsageQuery("project", None, "unknown", True), {"unknown": UNTYPED}),
    (UsageQuery("project", None, "ALL", True), {"ALL": CAPITALS}),
    (UsageQuery("project", None, "UNKNOWN", True), {}),
    (UsageQuery("project", None, "allxyz", True), {}),
    (UsageQuery("project", None, "INSTANCE", True), {"INSTANCE": INSTANCE}),
    (UsageQuery("project", "u2", "INSTANCE", True), {}),
    (UsageQuery("p2", None, "unknown", True), {}),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_sums(desk: Desk, query: UsageQuery, expected: dict[str, TypeUsages]) -> None:
    assert total_usages(desk.state, query) == expected


def test_classes_come_by_their_numbers(desk: Desk) -> None:
    (found,) = total_usages(desk.state, UsageQuery("project")).values()
    assert list(found.usages) == ["VCPU", "MEMORY_MB"]


def test_a_consumer_without_allocations_does_not_count() -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}), put(ALICE, {}))
    assert total_usages(desk.state, UsageQuery("project")) == {}
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}), put(BOB, {HOST: {"VCPU": 2}}, user_id="x"))
    found = total_usages(desk.state, UsageQuery("project"))
    assert found == {"all": TypeUsages(2, {"VCPU": 3})}


def test_a_consumer_without_a_record_is_in_no_project() -> None:
    desk = furnished()
    row = AllocationRow(1, 1, "ghost", 0, 2, None, None)
    desk.state.apply([Change("allocations", 1, None, row)], Cursor(99, "b"))
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}))
    found = total_usages(desk.state, UsageQuery("project", by_type=True))
    assert found == {"unknown": TypeUsages(1, {"VCPU": 1})}
