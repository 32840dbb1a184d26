"""Several engines on one database: no claim too many, no generation twice."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import ConcurrentUpdate, DoesNotFit
from gantt.model.commands import (
    ConsumerAllocations,
    CreateProvider,
    CreateResourceClass,
    Inventory,
    SetAllocations,
    SetInventories,
)
from gantt.state import check
from tests.engine.conftest import Connect, opened
from tests.engine.test_outcomes import create
from tests.live import ending

HOST = create(1).uuid
ROOT = Path(__file__).parents[2]


def claim(number: int, amount: int = 1) -> SetAllocations:
    uuid = f"{number:08x}-1111-4111-8111-111111111111"
    shares = {HOST: {"CUSTOM_SLOT": amount}}
    return SetAllocations((ConsumerAllocations(uuid, shares, "p", "u", None),))


def furnish(books: Gantt, total: int) -> None:
    books.submit(CreateResourceClass("CUSTOM_SLOT"))
    books.submit(create(1))
    books.submit(SetInventories(HOST, {"CUSTOM_SLOT": Inventory(total)}))


def outcomes(futures: list[Future[None]]) -> tuple[int, int]:
    """How many claims were granted, how many did not fit."""
    errors = [future.exception(60) for future in futures]
    refused = [error for error in errors if isinstance(error, DoesNotFit)]
    granted = [error for error in errors if error is None]
    assert len(granted) + len(refused) == len(futures), errors
    return len(granted), len(refused)


@pytest.mark.parametrize("freshness", ["strict", "bounded"])
def test_claims_never_exceed_the_capacity(
    url: str, connect: Connect, freshness: str
) -> None:
    engines = [connect(opened(url), freshness=freshness) for _ in range(2)]
    furnish(engines[0], total=30)
    with ThreadPoolExecutor(16) as pool:
        futures = [
            pool.submit(engines[number % 2].submit, claim(number))
            for number in range(60)
        ]
        assert outcomes(futures) == (30, 30)
    for books in engines:
        books.submit(CreateResourceClass("CUSTOM_LOOK"))
        assert books.get_usages(HOST).usages == {"CUSTOM_SLOT": 30}
        # One for the inventory, one for each granted claim, none for a refused one.
        assert books.get_provider(HOST).generation == 31
        assert len(books.get_provider_allocations(HOST).allocations) == 30
        assert books.verify().problems == ()
    left, right = (books._replica.state for books in engines)
    assert check.differences(left, right) == []


def test_of_two_that_expect_a_new_consumer_one_is_refused(
    url: str, connect: Connect
) -> None:
    engines = [connect(opened(url)) for _ in range(2)]
    furnish(engines[0], total=1000)
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            pair = [pool.submit(books.submit, claim(number)) for books in engines]
            errors = [future.exception(60) for future in pair]
            assert sum(error is None for error in errors) == 1
            assert sum(isinstance(error, ConcurrentUpdate) for error in errors) == 1
    view = engines[1].get_provider_allocations(HOST)
    assert {share.generation for share in view.allocations.values()} == {1}


def test_of_two_with_one_generation_one_wins(url: str, connect: Connect) -> None:
    engines = [connect(opened(url)) for _ in range(2)]
    furnish(engines[0], total=1)
    with ThreadPoolExecutor(8) as pool:
        for generation in range(1, 11):
            stock = {"CUSTOM_SLOT": Inventory(generation)}
            wish = SetInventories(HOST, stock, generation)
            pair = [pool.submit(books.submit, wish) for books in engines]
            errors = [future.exception(60) for future in pair]
            assert sum(error is None for error in errors) == 1
            assert sum(isinstance(error, ConcurrentUpdate) for error in errors) == 1


def test_ids_and_revisions_are_unique(url: str, connect: Connect) -> None:
    engines = [connect(opened(url)) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        wishes = [CreateProvider(f"uuid-{n}", f"name-{n}") for n in range(40)]
        list(pool.map(lambda n: engines[n % 2].submit(wishes[n]), range(40)))
    for books in engines:
        assert len(books.list_providers()) == 40
        assert books.revision == 40
        assert books.verify().problems == ()


WORKER = """
import sys, json
from gantt.engine.gantt import Gantt
from gantt.errors import DoesNotFit
from gantt.store import StoreOptions, open_store
from tests.engine.test_two_engines import claim

url, first = sys.argv[1], int(sys.argv[2])
books = Gantt(open_store(url, StoreOptions(lock_timeout_s=60)))
print("ready", flush=True)
sys.stdin.readline()
granted = []
for number in range(first, first + 40):
    try:
        books.submit(claim(number))
        granted.append(number)
    except DoesNotFit:
        pass
books.close()
print(json.dumps(granted))
"""


def _worker(url: str, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, url, str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def on(kind: str, count: int) -> Any:
    return pytest.param(kind, count, marks=pytest.mark.server(kind))


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("sqlite", 2),
        on("postgresql", 2),
        on("postgresql", 4),
        on("mariadb", 2),
        on("mariadb", 4),
    ],
    indirect=["kind"],
)
def test_processes_share_one_database(url: str, count: int, connect: Connect) -> None:
    books = connect(opened(url))
    furnish(books, total=50)
    granted: list[int] = []
    with ExitStack() as stack:
        workers = [
            stack.enter_context(ending(_worker(url, first)))
            for first in range(1000, 1000 * (count + 1), 1000)
        ]
        for worker in workers:
            assert worker.stdout
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in workers:
            out, _ = worker.communicate(timeout=60)
            assert worker.returncode == 0
            granted += json.loads(out)
    assert len(granted) == 50
    assert books.get_usages(HOST).usages == {"CUSTOM_SLOT": 50}
    found = {
        int(uuid[:8], 16) for uuid in books.get_provider_allocations(HOST).allocations
    }
    assert found == set(granted)
    assert books.get_provider(HOST).generation == 51
    assert books.verify().problems == ()
