"""A batch writes the difference between its first old and last new values, and the
order of its statements satisfies all constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.model import rows
from gantt.model.changes import Change
from gantt.model.rows import Key, Row
from gantt.store import StoreOptions, open_store
from gantt.store.outcomes import ForeignWrite
from gantt.store.row_writer import DELETE, INSERT, UPDATE, plan
from gantt.store.sql_store import SqlStore
from tests.databases import execute
from tests.examples import examples
from tests.store import books


class Model:
    """The rows of the books as they should be, and legal random changes to them."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[Key, Row]] = {name: {} for name in rows.ROW_TYPES}
        self.last_id = 0

    def put(self, table: str, row: Row) -> Iterator[Change]:
        key = rows.key_of(row)
        yield Change(table, key, self.tables[table].get(key), row)
        self.tables[table][key] = row

    def drop(self, table: str, key: Key) -> Iterator[Change]:
        yield Change(table, key, self.tables[table].pop(key), None)

    def new_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def providers(self) -> list[rows.ProviderRow]:
        found = self.tables[rows.PROVIDERS].values()
        return [row for row in found if isinstance(row, rows.ProviderRow)]

    def is_leaf(self, provider: rows.ProviderRow) -> bool:
        return all(row.parent_provider_id != provider.id for row in self.providers())

    def act(self, action: int, one: int, other: int) -> list[Change]:
        """One command's changes; none when the action is not possible now."""
        acts: list[Callable[[int, int], Iterator[Change]]] = [
            self._create,
            self._rename,
            self._move,
            self._delete,
            self._equip,
            self._strip,
            self._label,
            self._consume,
            self._release,
            self._name,
            self._host,
            self._instance,
            self._claim,
            self._settle,
        ]
        return list(acts[action](one, other))

    def _pick(self, number: int) -> rows.ProviderRow | None:
        known = self.providers()
        return known[number % len(known)] if known else None

    def _bumped(self, row: rows.ProviderRow, **values: object) -> Iterator[Change]:
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        fields |= {"generation": row.generation + 1, **values}
        yield from self.put(rows.PROVIDERS, rows.ProviderRow(**fields))

    def _free_name(self, number: int) -> str | None:
        name = f"name-{number % 4}"
        return None if any(row.name == name for row in self.providers()) else name

    def _create(self, one: int, other: int) -> Iterator[Change]:
        parent = self._pick(other) if other % 3 else None
        new, name = self.new_id(), self._free_name(one)
        root = parent.root_provider_id if parent else new
        yield from self.put(
            rows.PROVIDERS,
            books.provider_row(
                new, name=name, parent=parent.id if parent else None, root=root
            ),
        )

    def _rename(self, one: int, other: int) -> Iterator[Change]:
        provider, name = self._pick(one), self._free_name(other)
        if provider and name:
            yield from self._bumped(provider, name=name)

    def _move(self, one: int, other: int) -> Iterator[Change]:
        provider, parent = self._pick(one), self._pick(other)
        if not provider or not parent or not self.is_leaf(provider):
            return
        if parent.id == provider.id:
            values = {"parent_provider_id": None, "root_provider_id": provider.id}
        else:
            root = parent.root_provider_id
            values = {"parent_provider_id": parent.id, "root_provider_id": root}
        yield from self._bumped(provider, **values)

    def _delete(self, one: int, other: int) -> Iterator[Change]:
        provider = self._pick(one)
        if not provider or not self.is_leaf(provider):
            return
        for table in (rows.ALLOCATIONS, rows.INVENTORIES, rows.PROVIDER_TRAITS):
            for key, row in tuple(self.tables[table].items()):
                if getattr(row, "resource_provider_id", None) == provider.id:
                    yield from self.drop(table, key)
        yield from self.drop(rows.PROVIDERS, provider.id)

    def _equip(self, one: int, other: int) -> Iterator[Change]:
        provider = self._pick(one)
        if not provider:
            return
        for key, row in tuple(self.tables[rows.INVENTORIES].items()):
            if getattr(row, "resource_provider_id", None) == provider.id:
                yield from self.drop(rows.INVENTORIES, key)
        inventory = books.inventory_row(self.new_id(), provider.id, other % 2)
        yield from self.put(rows.INVENTORIES, inventory)
        yield from self._bumped(provider)

    def _strip(self, one: int, other: int) -> Iterator[Change]:
        known = self.tables[rows.PROVIDER_TRAITS]
        if known:
            yield from self.drop(rows.PROVIDER_TRAITS, list(known)[one % len(known)])

    def _label(self, one: int, other: int) -> Iterator[Change]:
        provider = self._pick(one)
        if provider:
            trait = 1_000_000 + other % 3
            if trait not in self.tables[rows.TRAITS]:
                yield from self.put(rows.TRAITS, books.name_row(trait, f"T{trait}"))
            link = books.link_row(provider.id, trait)
            yield from self.put(rows.PROVIDER_TRAITS, link)

    def _consume(self, one: int, other: int) -> Iterator[Change]:
        provider = self._pick(one)
        if provider:
            consumer = self.new_id()
            yield from self.put(rows.CONSUMERS, books.consumer_row(consumer))
            row = books.allocation_row(self.new_id(), provider.id, consumer)
            yield from self.put(rows.ALLOCATIONS, row)

    def _release(self, one: int, other: int) -> Iterator[Change]:
        known = self.tables[rows.CONSUMERS]
        if known:
            yield from self.drop(rows.CONSUMERS, list(known)[one % len(known)])

    def _name(self, one: int, other: int) -> Iterator[Change]:
        names = self.tables[rows.RESOURCE_CLASSES]
        taken = {getattr(row, "name", "") for row in names.values()}
        name = f"CUSTOM_{other % 3}"
        if name not in taken:
            number = one % 2 + 10_000
            yield from self.put(rows.RESOURCE_CLASSES, books.name_row(number, name))
        elif names:
            yield from self.drop(rows.RESOURCE_CLASSES, list(names)[one % len(names)])

    # Of the fleet: new ids bear again what was unique to those that went.

    def _host(self, one: int, other: int) -> Iterator[Change]:
        known = self.tables[rows.HOSTS]
        mine = [row for row in known.values() if getattr(row, "host", "") == f"h{one}"]
        if mine and other % 4 == 0:
            yield from self.drop(rows.HOSTS, rows.key_of(mine[0]))
            mine = []
        number = int(getattr(mine[0], "id", 0)) if mine else self.new_id()
        row = books.host_row(number, f'{{"vcpus": {other}}}', f"h{one}")
        yield from self.put(rows.HOSTS, row)

    def _instance(self, one: int, other: int) -> Iterator[Change]:
        if other % 4 == 0 and one + 1 in self.tables[rows.INSTANCES]:
            yield from self.drop(rows.INSTANCES, one + 1)
        else:
            row = books.instance_row(one + 1, f"h{other}")
            yield from self.put(rows.INSTANCES, row)

    def _claim(self, one: int, other: int) -> Iterator[Change]:
        for key, row in tuple(self.tables[rows.BOOKINGS].items()):
            if getattr(row, "instance_uuid", "") == books.uuid_of(10_000 + one):
                yield from self.drop(rows.BOOKINGS, key)
        lease = books.NOW if other % 2 else None
        made = books.claim_row(self.new_id(), other, one, leased_until=lease)
        yield from self.put(rows.BOOKINGS, made)

    def _settle(self, one: int, other: int) -> Iterator[Change]:
        for key, row in tuple(self.tables[rows.BOOKINGS].items()):
            if not isinstance(row, rows.BookingRow) or row.id % 2 != other % 2:
                continue
            yield from self.put(rows.BOOKINGS, replace(row, leased_until=None))
            if one % 2:
                yield from self.drop(rows.BOOKINGS, key)


ACTIONS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 13), st.integers(0, 8), st.integers(0, 8)),
        min_size=1,
        max_size=25,
    ),
    max_size=4,
)


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=ACTIONS)
def test_random_changes_are_written_correctly(
    store: SqlStore, url: str, batches: list[list[tuple[int, int, int]]]
) -> None:
    execute(
        url,
        "UPDATE resource_providers SET parent_provider_id = NULL, "
        "root_provider_id = NULL",
        *(f"DELETE FROM {table}" for table in reversed(rows.ROW_TYPES)),
    )
    model = Model()
    for batch in batches:
        commands = [changes for each in batch if (changes := model.act(*each))]
        books.write(store, *commands)
        wanted = {
            table: sorted(found.values(), key=rows.key_of)
            for table, found in model.tables.items()
            if found
        }
        assert books.contents(store) == wanted


def test_changes_to_one_row_are_merged() -> None:
    zero, one, two = (books.provider_row(1, generation=n) for n in range(3))
    steps = plan(
        [
            books.moved(rows.PROVIDERS, zero, one),
            books.moved(rows.PROVIDERS, one, two),
        ]
    )
    assert [(s.verb, s.pairs) for s in steps] == [(UPDATE, [(zero, two)])]


def test_a_row_inserted_and_deleted_is_not_written() -> None:
    row = books.consumer_row(1)
    changes = [*books.made(rows.CONSUMERS, row), *books.gone(rows.CONSUMERS, row)]
    assert plan(changes) == []
    assert plan([Change(rows.CONSUMERS, 1, None, None)]) == []


def test_children_are_deleted_before_and_inserted_after_parents() -> None:
    provider, other = books.provider_row(1), books.provider_row(2)
    trait = books.name_row(1, "T")
    link, other_link = books.link_row(1, 1), books.link_row(2, 1)
    steps = plan(
        [
            *books.made(rows.PROVIDER_TRAITS, other_link),
            *books.made(rows.PROVIDERS, other),
            *books.gone(rows.PROVIDERS, provider),
            *books.gone(rows.PROVIDER_TRAITS, link),
            *books.gone(rows.TRAITS, trait),
        ]
    )
    assert [(step.verb, step.table) for step in steps] == [
        (DELETE, rows.PROVIDER_TRAITS),
        (DELETE, rows.PROVIDERS),
        (DELETE, rows.TRAITS),
        (INSERT, rows.PROVIDERS),
        (INSERT, rows.PROVIDER_TRAITS),
    ]


def test_a_row_can_refer_to_a_name_in_the_same_batch(store: SqlStore) -> None:
    """Found by `python -m tests.simulation --seed 2 --store sqlite`."""
    kinds = books.name_row(1, "INSTANCE"), books.name_row(2, "MIGRATION")
    before = replace(books.consumer_row(1), consumer_type_id=1)
    after = replace(books.consumer_row(1, generation=2), consumer_type_id=2)
    books.write(
        store,
        books.made(rows.PROJECTS, books.name_row(1, "p")),
        books.made(rows.USERS, books.name_row(1, "u")),
        books.made(rows.CONSUMER_TYPES, kinds[0]),
        books.made(rows.CONSUMERS, before),
    )
    books.write(
        store,
        [
            *books.made(rows.CONSUMER_TYPES, kinds[1]),
            books.moved(rows.CONSUMERS, before, after),
        ],
    )
    assert books.contents(store)[rows.CONSUMERS] == [after]


def test_names_can_be_swapped_in_one_batch(store: SqlStore) -> None:
    a, b = books.provider_row(1, name="a"), books.provider_row(2, name="b")
    books.write(store, books.made(rows.PROVIDERS, a, b))
    a_aside = books.provider_row(1, name="aside", generation=1)
    b_as_a = books.provider_row(2, name="a", generation=1)
    a_as_b = books.provider_row(1, name="b", generation=2)
    books.write(
        store,
        [books.moved(rows.PROVIDERS, a, a_aside)],
        [books.moved(rows.PROVIDERS, b, b_as_a)],
        [books.moved(rows.PROVIDERS, a_aside, a_as_b)],
    )
    assert books.contents(store)[rows.PROVIDERS] == [a_as_b, b_as_a]


def test_unchanged_rows_are_not_written_in_ordered_batches(
    store: SqlStore,
) -> None:
    """A database that keeps times to the second gives back a row that was touched
    twice within one as it was."""
    one, other = books.provider_row(1), books.provider_row(2)
    books.write(store, books.made(rows.PROVIDERS, one, other))
    moved = replace(one, name="another")
    changes = [
        books.moved(rows.PROVIDERS, other, other),
        books.moved(rows.PROVIDERS, one, moved),
    ]
    assert [step.pairs for step in plan(changes)] == [[(one, moved)]]
    books.write(store, changes)
    assert books.contents(store)[rows.PROVIDERS] == [moved, other]


def test_a_key_can_be_reused_in_one_batch(store: SqlStore) -> None:
    one, two = books.name_row(1, "CUSTOM_A"), books.name_row(2, "CUSTOM_B")
    books.write(store, books.made(rows.RESOURCE_CLASSES, one, two))
    swapped = books.name_row(1, "CUSTOM_B"), books.name_row(2, "CUSTOM_A")
    books.write(
        store,
        books.gone(rows.RESOURCE_CLASSES, one, two),
        books.made(rows.RESOURCE_CLASSES, *swapped),
    )
    assert books.contents(store)[rows.RESOURCE_CLASSES] == list(swapped)


def test_a_host_that_reports_again_is_one_update(store: SqlStore) -> None:
    zero, one, two = (books.host_row(1, f'{{"vcpus": {n}}}') for n in range(3))
    books.write(store, books.made(rows.HOSTS, zero))
    before = store.statements
    books.write(
        store,
        [books.moved(rows.HOSTS, zero, one)],
        [books.moved(rows.HOSTS, one, two)],
    )
    # find the end of the log (SQLite: a hint first), lock, time (servers) or format
    # (SQLite, where the lock is no row), tail, hosts, log, commit
    assert store.statements - before == (7 if store._database.clock else 8)
    assert books.contents(store)[rows.HOSTS] == [two]


def test_unique_values_can_be_reused_in_one_batch(store: SqlStore) -> None:
    held: dict[str, list[rows.Row]] = {
        rows.SERVICES: [books.service_row(1, "h")],
        rows.FACTS: [books.fact_row(2, "h")],
        rows.HOSTS: [books.host_row(1, host="h")],
        rows.HOST_AGGREGATES: [books.aggregate_row(1, "h")],
        rows.INSTANCES: [books.instance_row(1, "h")],
        rows.SERVER_GROUPS: [books.group_row(1)],
        rows.BOOKINGS: [books.claim_row(1, 1, 1)],
    }
    books.write(store, *(books.made(table, *old) for table, old in held.items()))
    again = {table: [replace(row, id=2) for row in old] for table, old in held.items()}
    books.write(
        store,
        *(books.gone(table, *old) for table, old in held.items()),
        *(books.made(table, *new) for table, new in again.items()),
    )
    assert books.contents(store) == again


def test_host_names_can_be_swapped_in_one_batch(store: SqlStore) -> None:
    """No rule does it; a table that bears it is safe whatever rules come."""
    a, b = books.host_row(1, host="a"), books.host_row(2, host="b")
    books.write(store, books.made(rows.HOSTS, a, b))
    aside = replace(a, host="aside")
    b_as_a, a_as_b = replace(b, host="a", node="a"), replace(a, host="b", node="b")
    books.write(
        store,
        [books.moved(rows.HOSTS, a, aside)],
        [books.moved(rows.HOSTS, b, b_as_a)],
        [books.moved(rows.HOSTS, aside, a_as_b)],
    )
    assert books.contents(store)[rows.HOSTS] == [a_as_b, b_as_a]


PROVIDER, CONSUMER = books.provider_row(1, generation=3), books.consumer_row(1)
STALE = books.provider_row(1, generation=2)
MISSES = {
    "update of a provider at another generation": [
        books.moved(rows.PROVIDERS, STALE, books.provider_row(1, generation=9))
    ],
    "delete of a provider at another generation": books.gone(rows.PROVIDERS, STALE),
    "update of a consumer at another generation": [
        books.moved(rows.CONSUMERS, books.consumer_row(1, 7), books.consumer_row(1, 8))
    ],
    "delete of a consumer at another generation": books.gone(
        rows.CONSUMERS, books.consumer_row(1, 7)
    ),
    "delete of an allocation that is not there": books.gone(
        rows.ALLOCATIONS, books.allocation_row(5, 1, 1)
    ),
    "an id that is taken": books.made(rows.PROVIDERS, books.provider_row(1, name="x")),
    "a name that is taken": books.made(
        rows.PROVIDERS, books.provider_row(2, name="provider-1")
    ),
    "a second claim of an instance": [
        *books.made(rows.BOOKINGS, books.claim_row(1, 1, 1)),
        *books.made(rows.BOOKINGS, books.claim_row(2, 1, 1)),
    ],
    "a host that is gone": [
        books.moved(rows.HOSTS, books.host_row(1), books.host_row(1, '{"vcpus": 2}'))
    ],
    "a parent that is not there": books.made(
        rows.PROVIDERS, books.provider_row(2, parent=77, root=77)
    ),
}


@pytest.mark.parametrize("miss", MISSES)
def test_unexpected_rows_are_a_foreign_write(store: SqlStore, miss: str) -> None:
    books.write(
        store,
        books.made(rows.PROVIDERS, PROVIDER),
        books.made(rows.CONSUMERS, CONSUMER),
    )
    before = books.contents(store), store.cursor()
    trait = books.made(rows.TRAITS, books.name_row(9, "CUSTOM_T"))
    with pytest.raises(ForeignWrite):
        books.write(store, trait, MISSES[miss])
    assert (books.contents(store), store.cursor()) == before


def test_a_null_generation_is_zero(store: SqlStore, url: str) -> None:
    row = books.provider_row(1)
    books.write(store, books.made(rows.PROVIDERS, row))
    store.close()
    execute(
        url,
        "UPDATE resource_providers SET generation = NULL, created_at = NULL",
        "UPDATE resource_providers SET root_provider_id = NULL",
    )
    again = open_store(url, StoreOptions())
    (old,) = books.contents(again)[rows.PROVIDERS]
    assert isinstance(old, rows.ProviderRow)
    assert (old.generation, old.created_at, old.root_provider_id) == (0, None, 1)
    new = books.provider_row(1, generation=1)
    books.write(again, [books.moved(rows.PROVIDERS, old, new)])
    assert books.contents(again)[rows.PROVIDERS] == [new]
    again.close()
