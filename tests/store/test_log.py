"""The encoding of log rows, which other processes and releases read."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import astuple

from gantt import errors
from gantt.model import rows
from gantt.model.changes import Change
from gantt.store.changelog.codec import TABLE_NUMBERS, decode, encode
from gantt.store.head import NO_CHANGES
from tests.store import books


def test_the_numbers_of_the_tables_never_change() -> None:
    assert TABLE_NUMBERS == {
        "resource_classes": 1,
        "traits": 2,
        "placement_aggregates": 3,
        "projects": 4,
        "users": 5,
        "consumer_types": 6,
        "resource_providers": 7,
        "consumers": 8,
        "inventories": 9,
        "allocations": 10,
        "resource_provider_traits": 11,
        "resource_provider_aggregates": 12,
        "gantt_services": 13,
        "gantt_hosts": 14,
        "gantt_host_aggregates": 15,
        "gantt_instances": 16,
        "gantt_server_groups": 17,
        "gantt_facts": 19,
        "gantt_bookings": 20,
    }
    assert set(TABLE_NUMBERS) == set(rows.ROW_TYPES)


def test_only_new_values_are_stored() -> None:
    old, new = books.provider_row(3), books.provider_row(3, generation=1)
    changes = (
        books.moved(rows.PROVIDERS, old, new),
        *books.gone(rows.PROVIDER_TRAITS, books.link_row(3, 4)),
    )
    assert decode(encode(changes)) == (
        Change(rows.PROVIDERS, 3, None, new),
        Change(rows.PROVIDER_TRAITS, (3, 4), None, None),
    )


def test_a_history_begins_with_no_changes() -> None:
    assert encode(()) == NO_CHANGES
    assert decode(NO_CHANGES) == ()


def test_the_encoding_on_disk() -> None:
    data = encode(books.made(rows.TRAITS, rows.NameRow(5, "CUSTOM_A", 1, None)))
    assert msgspec.msgpack.decode(data) == [[2, 5, [5, "CUSTOM_A", 1, None]]]


def test_fleet_rows_round_trip() -> None:
    made: dict[str, rows.Row] = {
        rows.SERVICES: books.service_row(1, "h\u00f6st", disabled=True),
        rows.FACTS: books.fact_row(2, "h\u00f6st"),
        rows.HOSTS: books.host_row(1, '{"vcpus": 8}'),
        rows.HOST_AGGREGATES: books.aggregate_row(1, "a", "b"),
        rows.INSTANCES: books.instance_row(1, "a"),
        rows.SERVER_GROUPS: books.group_row(1, "x"),
        rows.BOOKINGS: books.claim_row(1, 1, 1, leased_until=books.NOW),
    }
    changes = tuple(
        change for table, row in made.items() for change in books.made(table, row)
    )
    assert made.keys() == rows.FLEET
    assert decode(encode(changes)) == changes
    assert msgspec.msgpack.decode(encode(changes))[0][2][3:5] == [True, False]


def test_appended_fields_of_later_releases_are_ignored() -> None:
    data = msgspec.msgpack.encode([[2, 5, [5, "CUSTOM_A", 1, None, "later"]]])
    (change,) = decode(data)
    assert change.new == rows.NameRow(5, "CUSTOM_A", 1, None)


def test_claims_of_the_release_before_promise_no_cells() -> None:
    row = books.claim_row(1, 1, 1)
    old = list(astuple(row))[:13]
    (change,) = decode(msgspec.msgpack.encode([[18, 1, old]]))
    assert change.new == row


@pytest.mark.parametrize(
    "data", [b"\xc1", msgspec.msgpack.encode([[99, 5, None]]), b""]
)
def test_an_unreadable_row_names_a_newer_gantt(data: bytes) -> None:
    with pytest.raises(errors.StoreFailed, match="newer Gantt"):
        decode(data)


def test_claims_of_an_older_log_are_bookings() -> None:
    row = rows.BookingRow(1, "c", "i", 2, 3, 4, 5, None, None, None, None, 6, None)
    fields = msgspec.structs.astuple(row)[:16]
    (change,) = decode(msgspec.msgpack.encode([(18, 1, fields)]))
    assert change == Change(rows.BOOKINGS, 1, None, row)
