"""Claims become bookings: a database of the release before is brought up to date."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gantt import Item, errors
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model import rows
from gantt.model.changes import Cursor
from gantt.model.demand import claim_of_plan, consumer_uuid
from gantt.model.hosts import HostStats, Instance
from gantt.model.placements import PlacedQuery
from gantt.model.rows import BookingRow
from gantt.store import open_store, schema
from gantt.store.adoption.adopt import adopt, release
from gantt.store.outcomes import ForeignWrite
from gantt.store.sql_store import SqlStore
from gantt.store.tables import FORMAT
from tests.databases import execute, migrate
from tests.kinds import SERVER_KINDS
from tests.store import books

BEFORE = "0013_facts"
ITEMS = Item("web", count=2, cpu=1), Item("db", cpu=2)
HELD = '{"fit":null,"held_by":"' + books.uuid_of(9) + '"}'
REMOTE = '{"allocations":{}}'
# name of the claim, lease, generation, remote, topology, counted at
STATES: dict[str, tuple[Any, ...]] = {
    "leased": (9_000, 1, None, None, None),
    "kept": (None, 1, None, None, None),
    "over": (0, None, REMOTE, None, None),
    "open": (9_000, None, REMOTE, None, None),
    "remote": (None, None, REMOTE, None, None),
    "held": (None, None, None, HELD, 7),
    "running": (None, 1, None, '{"is_running":true}', 8),
    "counted": (None, 1, None, '{"is_counted":true}', None),
}


def sql(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def claim(number: int, name: str, host: int = 1) -> str:
    values = [number, name, books.uuid_of(10_000 + number), host, 2, 4096, 20_480]
    told = ", ".join(map(sql, (*values, *STATES[name])))
    return (
        "INSERT INTO gantt_claims (id, claim, instance_uuid, host_id, vcpus, "
        "memory_mb, disk_mb, leased_until, consumer_generation, remote, topology, "
        "counted_at) "
        f"VALUES ({told})"
    )


def previous(url: str, *more: str) -> None:
    """The tables of the release before, with one claim in each state."""
    migrate(url, BEFORE)
    claims = [claim(number, name) for number, name in enumerate(STATES, 1)]
    log = "INSERT INTO gantt_log VALUES (1, 'b1', 5, 'Claim', '', {})"
    empty = "decode('90', 'hex')" if url.startswith("postgresql") else "x'90'"
    older = "UPDATE gantt_head SET format = 2, epoch = 1"
    execute(url, older, log.format(empty), *claims, *more)


def kept(store: SqlStore) -> dict[str, BookingRow]:
    return {
        one.claim: one
        for one in books.contents(store)[rows.BOOKINGS]
        if isinstance(one, BookingRow)
    }


def test_claims_in_each_state_are_bookings_and_older_processes_stop(url: str) -> None:
    previous(url)
    for use in (open_store, schema.check):
        with pytest.raises(errors.Refused, match=rf"{BEFORE}, .*needs .*db sync"):
            use(url)
    assert schema.sync(url) == schema.HEAD == schema.sync(url)
    # What a process of the release before reads with its next lock, and refuses.
    assert execute(url, "SELECT format, epoch FROM gantt_head") == [(FORMAT, 2)]
    store = open_store(url)
    assert isinstance(store, SqlStore)
    found = kept(store)
    assert list(found) == list(STATES)
    for number, (name, said) in enumerate(STATES.items(), 1):
        row = found[name]
        told = row.leased_until, row.consumer_generation, row.remote
        assert (*told, row.topology, row.counted_at) == said
        assert (row.id, row.instance_uuid) == (number, books.uuid_of(10_000 + number))
        assert (row.host_id, row.vcpus, row.memory_mb, row.disk_mb) == (
            1,
            2,
            4096,
            20_480,
        )
        assert row.role == ("source" if name == "held" else "target")
        assert (row.item, row.name, row.plan, row.ends_at) == ("", "", "", None)
    # Watchers read anew.
    assert store.tail(Cursor(1, "b1")) is None
    with pytest.raises(errors.Gone, match=r"begun at revision 3 \(Upgrade\)"):
        store.history(Cursor(1, "b1"))
    store.close()


def test_one_consumer_has_one_booking_of_an_item_and_role(url: str) -> None:
    schema.sync(url)
    store = open_store(url)
    one = books.claim_row(1, 1, 1)
    more = msgspec.structs.replace(one, id=2, role=rows.SOURCE)
    books.write(store, books.made(rows.BOOKINGS, one, more))
    again = msgspec.structs.replace(one, id=3)
    with pytest.raises(ForeignWrite):
        books.write(store, books.made(rows.BOOKINGS, again))
    store.close()


def report(engine: Gantt, host: str) -> None:
    engine.update_host(host, host, HostStats(vcpus=8, memory_mb=4096, local_gb=100))


def before(engine: Gantt) -> list[str]:
    """SQL that makes the names of bookings what the release before had of them."""
    found = []
    table = engine.read(lambda state: list(state.fleet.claims.booked.values()))
    for row in table:
        said = {"name": row.name, "item": row.item, "plan": row.plan}
        said["digest"] = row.digest
        if row.is_claim:
            answered = {"digest": "", "allocations": {}, "booked": said}
            text = msgspec.json.encode(answered).decode()
            found.append(
                f"UPDATE gantt_claims SET answered = '{text}' WHERE id = {row.id}"
            )
        else:
            text = msgspec.json.encode({"_booked": said, "a": 1}).decode()
            found.append(
                f"UPDATE gantt_instances SET facts = '{text}' "
                f"WHERE uuid = '{row.instance_uuid}'"
            )
    return found


def test_what_was_placed_by_name_is_known_by_it(url: str) -> None:
    schema.sync(url)
    with open_gantt(url) as engine:
        report(engine, "h1")
        first = engine.place(*ITEMS, plan="app")
        engine.place(Item("alone", cpu=1))
        engine.update_instances("h1", (Instance(consumer_uuid("", "db")),))
        statements = before(engine)
    migrate(url, BEFORE)
    execute(url, "UPDATE gantt_head SET format = 2", *statements)
    schema.sync(url)
    with open_gantt(url) as engine:
        states = {one.name: one.state for one in engine.list_placements()}
        assert states == {
            "web-1": "placed",
            "web-2": "placed",
            "db": "running",
            "alone": "placed",
        }
        again = engine.place(*ITEMS, plan="app")
        assert [(one.name, one.host, one.node) for one in again.placements] == [
            (one.name, one.host, one.node) for one in first.placements
        ]
        assert again.claim == first.claim == claim_of_plan("", "app")
        assert again.ended == ()
        with pytest.raises(errors.Conflict, match="for another demand"):
            engine.place(Item("web", cpu=5), plan="app")
        named = engine.read(lambda state: state.fleet.instances.by_uuid.values())
        assert [one.facts for one in named] == ['{"a":1}']
        engine.release_placement(plan="app")
        (left,) = engine.list_placements(PlacedQuery())
        assert left.name == "alone"


def test_books_that_were_handed_back_are_taken_over_with_their_claims(url: str) -> None:
    previous(url, "UPDATE gantt_head SET format = 0")
    adopt(url)
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert list(kept(store)) == list(STATES)
    store.close()
    found = release(url, drop=True)
    assert (found.counts[rows.BOOKINGS], found.leased) == (len(STATES), 2)
    assert rows.BOOKINGS in found.dropped


# Elsewhere all of a migration that breaks off is undone.
@pytest.mark.parametrize(
    "kind", [kind for kind in SERVER_KINDS if "maria" in str(kind)], indirect=True
)
def test_what_broke_off_is_repeated(url: str) -> None:
    previous(url)
    execute(url, "CREATE TABLE kept AS SELECT * FROM gantt_claims")
    schema.sync(url)
    execute(
        url,
        "CREATE TABLE gantt_claims AS SELECT * FROM kept",
        "DROP TABLE kept",
        "UPDATE gantt_head SET format = 2",
        f"UPDATE gantt_alembic_version SET version_num = '{BEFORE}'",
    )
    schema.sync(url)
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert list(kept(store)) == list(STATES)
    store.close()
