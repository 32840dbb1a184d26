"""Traits and aggregates of providers: when the generation moves, and what is said."""

from __future__ import annotations

import pytest

from gantt.errors import ConcurrentUpdate, GanttError, NotFound, UnknownName
from gantt.model.answers import ProviderAggregates, ProviderTraits
from gantt.model.commands import Command, DeleteTraits, SetAggregates, SetTraits
from gantt.placement import queries
from tests.placement.desk import ABSENT, CHILD, HOST, furnished

GONE = f"No resource provider with uuid {ABSENT} found"
MOVED_ON = (
    "Resource provider's generation already changed. Please update the generation "
    "and try again."
)
REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    (SetAggregates(ABSENT, ()), NotFound, GONE),
    (SetTraits(ABSENT, ("NOPE",)), NotFound, GONE),
    (DeleteTraits(ABSENT), NotFound, GONE),
    (SetAggregates(HOST, ("a",), 0), ConcurrentUpdate, MOVED_ON),
    (SetTraits(HOST, ("NOPE",), 0), ConcurrentUpdate, MOVED_ON),
    (SetTraits(HOST, ("NOPE",), 1), UnknownName, "No such trait NOPE"),
    (
        SetTraits(HOST, ("X", "CUSTOM_GOLD", "NOPE", "X")),
        UnknownName,
        "No such trait X, NOPE",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


def test_aggregates_move_the_generation_always_or_never() -> None:
    desk = furnished()
    given = ("b", "a")
    assert desk.do(SetAggregates(HOST, given, 1)) == ProviderAggregates(2, given)
    assert desk.do(SetAggregates(HOST, given, 2)) == ProviderAggregates(3, given)
    assert desk.do(SetAggregates(HOST, ("c",), bump=False)).generation == 3
    assert desk.do(SetAggregates(HOST, ())).generation == 4
    found = queries.aggregates(desk.state, HOST)
    assert found == ProviderAggregates(4, ())


def test_aggregates_come_into_being_once_and_stay() -> None:
    desk = furnished()
    desk.do(
        SetAggregates(HOST, ("a", "b", "a")),
        SetAggregates(CHILD, ("b", "A")),
        SetAggregates(HOST, ()),
    )
    rows = desk.state.rows("placement_aggregates")
    assert [row.name for row in rows] == ["a", "b", "A"]  # type: ignore[union-attr]
    found = queries.aggregates(desk.state, CHILD)
    assert found is not None
    assert found.aggregates == ("b", "A")


def test_nothing_new_without_a_generation_is_no_change() -> None:
    desk = furnished()
    desk.do(SetAggregates(HOST, ("a",)))
    assert desk.changes(SetAggregates(HOST, ("a",), bump=False)) == 0


def test_traits_move_the_generation_only_with_the_set() -> None:
    desk = furnished()
    gold, avx = "CUSTOM_GOLD", "HW_CPU_X86_AVX"
    answer = desk.do(SetTraits(HOST, (gold, avx, gold), 1))
    assert answer == ProviderTraits(2, (avx, gold), 102)
    assert queries.traits(desk.state, HOST) == answer
    assert desk.do(SetTraits(HOST, (avx, gold), 2)).generation == 2
    assert desk.changes(SetTraits(HOST, (avx, gold), 2)) == 0
    assert desk.do(SetTraits(HOST, (gold,), 2)).generation == 3
    desk.do(DeleteTraits(HOST))
    assert desk.generation() == 4
    desk.do(DeleteTraits(HOST))
    assert desk.generation() == 4
    assert desk.do(SetTraits(HOST, ())) == ProviderTraits(4, (), None)
