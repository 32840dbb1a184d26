"""Rows and entries for the tests of the store, with ids as the books give them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable

from gantt.model import rows
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import Row
from gantt.store.interface import Store

# Whole seconds: what every database keeps.
NOW = 1_700_000_000_000_000

SECOND = 1_000_000


def uuid_of(number: int) -> str:
    return str(uuid.UUID(int=number))


def name_row(number: int, name: str) -> rows.NameRow:
    return rows.NameRow(number, name, NOW, NOW)


def provider_row(
    number: int,
    *,
    name: str | None = None,
    generation: int = 0,
    parent: int | None = None,
    root: int | None = None,
) -> rows.ProviderRow:
    return rows.ProviderRow(
        number,
        uuid_of(number),
        name or f"provider-{number}",
        generation,
        root or number,
        parent,
        NOW,
        None,
    )


def inventory_row(
    number: int, provider: int, rc: int, total: int = 8
) -> rows.InventoryRow:
    return rows.InventoryRow(
        number, provider, rc, total, 0, 1, total, 1, 1.5, NOW, NOW + SECOND
    )


def consumer_row(number: int, generation: int = 1) -> rows.ConsumerRow:
    return rows.ConsumerRow(
        number, uuid_of(10_000 + number), 1, 1, generation, None, NOW, NOW
    )


def allocation_row(
    number: int, provider: int, consumer: int, used: int = 1
) -> rows.AllocationRow:
    owner = uuid_of(10_000 + consumer)
    return rows.AllocationRow(number, provider, owner, 0, used, NOW, None)


def link_row(provider: int, label: int) -> rows.LinkRow:
    return rows.LinkRow(provider, label, NOW, None)


def host_row(number: int, stats: str = "{}", host: str | None = None) -> rows.HostRow:
    name = host or f"host-{number}"
    return rows.HostRow(number, name, name, uuid_of(number), stats, NOW, None)


def service_row(number: int, host: str, *, disabled: bool = False) -> rows.ServiceRow:
    return rows.ServiceRow(
        id=number,
        host=host,
        binary="nova-compute",
        disabled=disabled,
        forced_down=False,
        last_seen_up=NOW,
        availability_zone="az1",
        cell_uuid=uuid_of(1),
        version=66,
        created_at=NOW,
        updated_at=None,
    )


def fact_row(number: int, host: str, *, disabled: bool = False) -> rows.FactRow:
    return rows.FactRow(
        number, "operator", host, disabled, False, NOW, "why", NOW, None
    )


def aggregate_row(number: int, *hosts: str) -> rows.HostAggregateRow:
    named = json.dumps(sorted(hosts))
    return rows.HostAggregateRow(
        id=number,
        uuid=uuid_of(20_000 + number),
        name=f"aggregate-{number}",
        number=number,
        hosts=named,
        metadata='{"ssd": "true"}',
        created_at=NOW,
        updated_at=None,
    )


def instance_row(number: int, host: str, facts: str = "{}") -> rows.InstanceRow:
    return rows.InstanceRow(number, uuid_of(10_000 + number), host, facts, NOW, None)


def group_row(number: int, *members: str) -> rows.ServerGroupRow:
    return rows.ServerGroupRow(
        id=number,
        uuid=uuid_of(30_000 + number),
        name="group",
        policy="anti-affinity",
        max_server_per_host=1,
        members=json.dumps(sorted(members)),
        created_at=NOW,
        updated_at=None,
    )


def claim_row(
    number: int, host: int, instance: int, *, leased_until: int | None = None
) -> rows.BookingRow:
    return rows.BookingRow(
        id=number,
        claim=f"claim-{number}",
        instance_uuid=uuid_of(10_000 + instance),
        host_id=host,
        vcpus=2,
        memory_mb=4096,
        disk_mb=20_480,
        group_uuid=None,
        leased_until=leased_until,
        consumer_generation=None,
        remote=None,
        created_at=NOW,
        updated_at=None,
    )


def made(table: str, *new: Row) -> list[Change]:
    """The changes that make rows."""
    return [Change(table, rows.key_of(row), None, row) for row in new]


def gone(table: str, *old: Row) -> list[Change]:
    """The changes that delete rows."""
    return [Change(table, rows.key_of(row), row, None) for row in old]


def moved(table: str, old: Row, new: Row) -> Change:
    """The change from one row to another."""
    return Change(table, rows.key_of(old), old, new)


def entry(cursor: Cursor, changes: Iterable[Change]) -> LogEntry:
    return LogEntry(cursor.revision, cursor.batch, NOW, "Test", "req-1", tuple(changes))


def write(store: Store, *commands: Iterable[Change]) -> Cursor:
    """Commit one batch, an entry per command; the new end of the log."""
    end = store.cursor()
    batch = uuid.uuid4().hex
    transaction = store.begin()
    try:
        entries = [
            entry(Cursor(end.revision + number, batch), changes)
            for number, changes in enumerate(commands, 1)
        ]
        transaction.write(entries)
        transaction.commit()
    finally:
        transaction.rollback()
    return Cursor(end.revision + len(commands), batch)


def contents(store: Store) -> dict[str, list[Row]]:
    """All rows of the store by table, tables without rows left out."""
    found: dict[str, list[Row]] = {}
    _, chunks = store.load()
    for table, chunk in chunks:
        found.setdefault(table, []).extend(chunk)
    return found
