"""How many SQL statements a batch and a read cost, whatever is in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import (
    ConsumerAllocations,
    CreateProvider,
    CreateResourceClass,
    Inventory,
    SetAggregates,
    SetAllocations,
    SetInventories,
)
from gantt.placement import queries
from gantt.store import StoreOptions, open_store
from tests.engine.faults import Callers, FaultyStore


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "books.db"
    open_store(f"sqlite:///{path}", StoreOptions(create=True)).close()
    return path


class Counted:
    """An engine on SQLite, and what it sends."""

    def __init__(self, path: Path, options: EngineOptions) -> None:
        self.store = FaultyStore(open_store(f"sqlite:///{path}"))
        self.books = Gantt(self.store, options)
        self.callers = Callers(self.books, 256)

    def batch(self, *commands: Any) -> int:
        """Statements of one batch with these commands."""
        hold = self.store.hold("tail")
        first = self.callers.run(self.books.submit, CreateResourceClass("CUSTOM_X"))
        hold.wait()
        futures = self.callers.submit(*commands)
        waiting = self.store.hold("begin")
        hold.release()
        first.result(20)
        waiting.wait()
        before = self.sent()
        waiting.release()
        for future in futures:
            future.result(20)
        return self.sent() - before

    def sent(self) -> int:
        return int(self.store.statements)

    def reads(self, action: Any, *args: Any) -> int:
        before = self.sent()
        action(*args)
        return self.sent() - before


def counted(path: Path, empty: Path, **options: Any) -> Iterator[Counted]:
    shutil.copy(empty, path)
    # No leader tasks: what they ask would be counted too.
    one = Counted(path, EngineOptions(sweep_s=600, **options))
    yield one
    one.books.close()
    one.callers.close()


@pytest.fixture
def strict(tmp_path: Path, empty: Path) -> Iterator[Counted]:
    yield from counted(tmp_path / "books.db", empty, planning_ms=10_000)


@pytest.fixture
def bounded(tmp_path: Path, empty: Path) -> Iterator[Counted]:
    yield from counted(
        tmp_path / "books.db", empty, freshness="bounded", bound_ms=1_000_000
    )


def providers(start: int, size: int) -> list[CreateProvider]:
    return [
        CreateProvider(f"uuid-{n}", f"name-{n}") for n in range(start, start + size)
    ]


def claims(start: int, size: int) -> list[SetAllocations]:
    return [
        SetAllocations(
            (
                ConsumerAllocations(
                    f"consumer-{n}", {"uuid-0": {"CUSTOM_X": 1}}, "p", "u", None
                ),
            )
        )
        for n in range(start, start + size)
    ]


def furnish(counted: Counted) -> None:
    counted.books.submit(CreateResourceClass("CUSTOM_X"))
    counted.books.submit(providers(0, 1)[0])
    stock = {"CUSTOM_X": Inventory(10_000)}
    counted.books.submit(SetInventories("uuid-0", stock))
    counted.books.submit(claims(9_000, 1)[0])  # project and user exist from now on


def test_statements_are_constant_in_new_providers(
    strict: Counted,
) -> None:
    costs = [strict.batch(*providers(100 * size, size)) for size in (2, 16, 100)]
    assert len(set(costs)) == 1, costs
    # begin, tail, one insert per table, the log, commit; ids need no statement.
    assert costs[0] <= 6


def test_statements_are_constant_in_claims(strict: Counted) -> None:
    furnish(strict)
    costs = [strict.batch(*claims(100 * size, size)) for size in (2, 16, 100)]
    assert len(set(costs)) == 1, costs
    assert costs[0] <= 8


def test_preconditions_of_a_batch_are_read_once(strict: Counted) -> None:
    furnish(strict)
    for one in providers(1, 100):
        strict.books.submit(one)

    def joined(size: int) -> list[SetAggregates]:
        return [SetAggregates(f"uuid-{n}", (f"a-{size}",)) for n in range(size)]

    for first in joined(100):
        strict.books.submit(first)
    costs = [strict.batch(*joined(size)) for size in (2, 16, 99)]
    assert len(set(costs)) == 1, costs
    # As ever, and what the providers and their aggregates are.
    assert costs[0] <= 11


def test_statements_depend_on_tables_only(strict: Counted) -> None:
    furnish(strict)
    few = [*providers(100, 2), *claims(100, 2)]
    many = [*providers(200, 40), *claims(200, 40)]
    assert strict.batch(*few) == strict.batch(*many)


def test_refusal_costs_only_the_lock_and_one_read(strict: Counted) -> None:
    furnish(strict)
    before = strict.store.statements
    with pytest.raises(Exception, match="Conflicting"):
        strict.books.submit(providers(0, 1)[0])
    assert strict.store.statements - before <= 3


READS: list[tuple[Any, ...]] = [
    (queries.provider, "uuid-0"),
    (queries.inventories, "uuid-0"),
    (queries.provider_allocations, "uuid-0"),
    (queries.allocations, "consumer-9000"),
    (queries.resource_classes,),
]


@pytest.mark.parametrize("query", READS, ids=lambda query: query[0].__name__)
def test_strict_read_is_one_cheap_statement(
    strict: Counted, query: tuple[Any, ...]
) -> None:
    furnish(strict)
    strict.reads(strict.books.read, *query)
    sent = [strict.reads(strict.books.read, *query) for _ in range(5)]
    assert max(sent) <= 1


def test_bounded_read_sends_no_statement(bounded: Counted) -> None:
    furnish(bounded)
    bounded.books.get_provider("uuid-0")
    assert bounded.reads(bounded.books.get_provider, "uuid-0") == 0
    assert bounded.reads(bounded.books.get_provider_allocations, "uuid-0") == 0


def test_catching_up_is_constant_in_the_lag(strict: Counted, tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    other = Counted(path, EngineOptions())
    costs = []
    for size in (1, 50):
        for command in providers(1000 * size, size):
            strict.books.submit(command)
        costs.append(other.reads(other.books.list_providers))
    other.books.close()
    other.callers.close()
    assert len(set(costs)) == 1, costs
    assert costs[0] <= 3  # the hint, the end of the log, its tail
