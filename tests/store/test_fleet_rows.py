"""Tables, log and columns agree on the fleet, whatever was written."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantt.model import rows
from gantt.model.changes import Change, Cursor
from gantt.state import check
from gantt.state.state import State
from gantt.store import StoreOptions, open_store
from gantt.store.interface import Store
from tests.examples import examples
from tests.state.books import ROWS as SAMPLE
from tests.store import books


def loaded(store: Store) -> State:
    state = State()
    cursor, chunks = store.load()
    for table, chunk in chunks:
        state.load(table, chunk)
    state.apply((), cursor)
    return state


def replayed(store: Store) -> State:
    state = State()
    for entry in store.tail(Cursor()) or ():
        state.apply(entry.changes, Cursor(entry.revision, entry.batch))
    return state


def same(left: State, right: State) -> bool:
    return check.differences(left, right) == [] == check.problems(left)


def test_tables_and_log_agree(store: Store) -> None:
    live = State()
    changes = [change for table, row in SAMPLE for change in books.made(table, row)]
    kept = store.as_kept(tuple(changes))
    live.apply(kept, books.write(store, kept))
    assert same(live, loaded(store))
    assert same(live, replayed(store))
    assert loaded(store).cursor == replayed(store).cursor == live.cursor
    for table in rows.ROW_TYPES:
        assert loaded(store).next_id(table) == live.next_id(table)


def test_a_fleet_survives_a_restart(store: Store, url: str) -> None:
    changes = [change for table, row in SAMPLE for change in books.made(table, row)]
    books.write(store, changes)
    before = loaded(store)
    store.close()
    again = open_store(url)
    after = loaded(again)
    again.close()
    assert same(before, after)
    assert after.fleet.hosts_of("bob") == {"h1"}
    assert after.fleet.claims.expired(99, 9) == ["claim"]


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_random_batches(tmp_path: Path, seed: int, batches: int) -> None:
    rng = random.Random(seed)
    url = f"sqlite:///{tmp_path}/{seed}-{batches}.db"
    store = open_store(url, StoreOptions(create=True))
    live = State()
    for _ in range(batches):
        commands = [_change(live, rng) for _ in range(rng.randint(1, 12))]
        live.apply((), books.write(store, *commands))
    assert same_rows(live, loaded(store))
    assert same_rows(live, replayed(store))
    store.close()


def same_rows(left: State, right: State) -> bool:
    return check.differences(left, right) == [] and left.cursor == right.cursor


def _change(live: State, rng: random.Random) -> list[Change]:
    """One change that the live columns allow, and have taken in."""
    table, key = rng.choice(sorted(rows.FLEET)), rng.randint(1, 4)
    key += 10 * (table == rows.FACTS)  # no id is also that of a service
    old = live.get(table, key)
    new = None if old and rng.random() < 0.3 else _row(table, key, rng)
    changes = [Change(table, key, old, new)]
    live.apply(changes, Cursor())
    return changes


def _row(table: str, key: int, rng: random.Random) -> rows.Row:
    host = f"h{rng.randint(1, 3)}"
    if table == rows.SERVICES:
        return books.service_row(key, f"h{key}", disabled=rng.random() < 0.5)
    if table == rows.FACTS:
        return books.fact_row(key, f"h{key}", disabled=rng.random() < 0.5)
    if table == rows.HOSTS:
        return books.host_row(key, f'{{"vcpus": {rng.randint(0, 9)}}}')
    if table == rows.HOST_AGGREGATES:
        return books.aggregate_row(key, *{host, "h1"})
    if table == rows.INSTANCES:
        return books.instance_row(key, host)
    if table == rows.SERVER_GROUPS:
        return books.group_row(key, host)
    lease = rng.choice((None, books.NOW))
    return books.claim_row(key, rng.randint(1, 4), key, leased_until=lease)
