"""Consumers and their allocations as columns.

Allocations hang in two chains, by consumer and by provider, so that neither question
needs a container per owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from gantt.model.rows import AllocationRow, ConsumerRow
from gantt.state.column import (
    NO_ROW,
    NO_TIME,
    Chain,
    DatedColumns,
    Int32s,
    Int64s,
    times_in,
)
from gantt.state.name_table import Fold, names_index

NO_ID = -1


class Consumers(DatedColumns):
    """One row per consumer uuid.

    A uuid that only allocations name (very old databases) has a row without an id:
    ``row_by_uuid`` has it, ``find`` does not.
    """

    specs: ClassVar = {
        "id": (np.int64, NO_ID),
        "project_id": (np.int64, NO_ID),
        "user_id": (np.int64, NO_ID),
        "generation": (np.int64, 0),
        "type_id": (np.int64, NO_ID),
        "touched": (np.int64, 0),
        **DatedColumns.specs,
    }
    id: Int64s
    project_id: Int64s
    user_id: Int64s
    generation: Int64s
    type_id: Int64s
    # ``State.applied`` when it or its allocations last changed; 0 since it was loaded.
    touched: Int64s

    def __init__(self, fold: Fold | None = None) -> None:
        super().__init__()
        # That of the State, which sets it.
        self.applied = 0
        self.uuids: list[str] = []
        self._by_id: dict[int, int] = {}
        self.row_by_uuid = names_index(fold)

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, uuid: str) -> ConsumerRow | None:
        row = self.row_by_uuid.get(uuid)
        return None if row is None or self.id[row] == NO_ID else self.at(row)

    def ids(self) -> Iterator[int]:
        """Every consumer id, ascending."""
        return iter(sorted(self._by_id))

    def get(self, key: int) -> ConsumerRow | None:
        row = self._by_id.get(key)
        return None if row is None else self.at(row)

    def at(self, row: int) -> ConsumerRow:
        """The values of a row that has an id."""
        type_id = int(self.type_id[row])
        return ConsumerRow(
            int(self.id[row]),
            self.uuids[row],
            int(self.project_id[row]),
            int(self.user_id[row]),
            int(self.generation[row]),
            None if type_id == NO_ID else type_id,
            *self.dates(row),
        )

    def ensure(self, uuid: str) -> int:
        """The row of a uuid, a new one without an id where there was none."""
        row = self.row_by_uuid.get(uuid)
        if row is None:
            row = self.take()
            if row == len(self.uuids):
                self.uuids.append("")
            self.uuids[row] = uuid
            self.row_by_uuid[uuid] = row
        return row

    def put(self, values: ConsumerRow) -> None:
        """Add the consumer, or take in its new values."""
        row = self.ensure(values.uuid)
        self._by_id[values.id] = row
        self.id[row] = values.id
        self.project_id[row] = values.project_id
        self.user_id[row] = values.user_id
        self.generation[row] = values.generation
        self.type_id[row] = (
            NO_ID if values.consumer_type_id is None else values.consumer_type_id
        )
        self.touched[row] = self.applied
        created_at, updated_at = values.created_at, values.updated_at
        self.created_at[row] = NO_TIME if created_at is None else created_at
        self.updated_at[row] = NO_TIME if updated_at is None else updated_at

    def load(self, rows: list[ConsumerRow]) -> None:
        """Add many that are not known yet."""
        block = self.take_block(len(rows))
        numbers = range(block.start, block.stop)
        del self.uuids[block.start :]
        self.uuids.extend(row.uuid for row in rows)
        self.row_by_uuid.update(zip((row.uuid for row in rows), numbers, strict=True))
        self._by_id.update(zip((row.id for row in rows), numbers, strict=True))
        self.id[block] = [row.id for row in rows]
        self.project_id[block] = [row.project_id for row in rows]
        self.user_id[block] = [row.user_id for row in rows]
        self.generation[block] = [row.generation for row in rows]
        self.type_id[block] = [
            NO_ID if row.consumer_type_id is None else row.consumer_type_id
            for row in rows
        ]
        self.created_at[block] = times_in(row.created_at for row in rows)
        self.updated_at[block] = times_in(row.updated_at for row in rows)

    def remove(self, key: int) -> int:
        """Take the id from a consumer; the row stays until ``forget``."""
        row = self._by_id.pop(key)
        self.id[row] = NO_ID
        return row

    def forget(self, row: int) -> None:
        """Give back a row that has neither id nor allocations."""
        if self.id[row] == NO_ID and self.is_live[row]:
            del self.row_by_uuid[self.uuids[row]]
            self.uuids[row] = ""
            self.give_back(row)

    def rows(self) -> Iterator[ConsumerRow]:
        """Every consumer with an id, by ascending id."""
        return (self.at(self._by_id[key]) for key in sorted(self._by_id))


class Allocations(DatedColumns):
    """One row per (provider, consumer, class)."""

    specs: ClassVar = {
        "id": (np.int64, NO_ID),
        "provider": (np.int32, NO_ROW),
        "consumer": (np.int32, NO_ROW),
        "class_index": (np.int32, NO_ROW),
        "amount": (np.int64, 0),
        **DatedColumns.specs,
    }
    id: Int64s
    provider: Int32s
    consumer: Int32s
    class_index: Int32s
    amount: Int64s

    def __init__(self) -> None:
        super().__init__()
        self.by_provider = Chain()
        self.by_consumer = Chain()
        self.row_by_id: dict[int, int] = {}

    def put(
        self, values: AllocationRow, provider: int, consumer: int, class_index: int
    ) -> int:
        """Add the allocation, or take in new amounts; how much more is used now."""
        row = self.row_by_id.get(values.id)
        if row is None:
            row = self.take()
            self.row_by_id[values.id] = row
            self.id[row] = values.id
            self.provider[row] = provider
            self.consumer[row] = consumer
            self.class_index[row] = class_index
            self.by_provider.add(provider, row)
            self.by_consumer.add(consumer, row)
        more = values.used - int(self.amount[row])
        self.amount[row] = values.used
        created_at, updated_at = values.created_at, values.updated_at
        self.created_at[row] = NO_TIME if created_at is None else created_at
        self.updated_at[row] = NO_TIME if updated_at is None else updated_at
        return more

    def load(
        self,
        rows: list[AllocationRow],
        providers: list[int],
        consumers: list[int],
        class_indexes: list[int],
    ) -> None:
        """Add many that are not known yet; the lists give what ``put`` takes."""
        block = self.take_block(len(rows))
        numbers = range(block.start, block.stop)
        self.row_by_id.update(zip((row.id for row in rows), numbers, strict=True))
        self.id[block] = [row.id for row in rows]
        self.provider[block] = providers
        self.consumer[block] = consumers
        self.class_index[block] = class_indexes
        self.amount[block] = [row.used for row in rows]
        self.created_at[block] = times_in(row.created_at for row in rows)
        self.updated_at[block] = times_in(row.updated_at for row in rows)
        self.by_provider.add_block(self.provider[block], block)
        self.by_consumer.add_block(self.consumer[block], block)

    def remove(self, key: int) -> tuple[int, int, int, int]:
        """Forget an allocation: its provider, consumer, class and amount."""
        row = self.row_by_id.pop(key)
        provider, consumer = int(self.provider[row]), int(self.consumer[row])
        found = provider, consumer, int(self.class_index[row]), int(self.amount[row])
        self.by_provider.remove(provider, row)
        self.by_consumer.remove(consumer, row)
        self.give_back(row)
        return found

    def used_on(self, provider: int, class_index: int) -> int:
        """Sum over all allocations of a class on a provider."""
        return sum(
            int(self.amount[row])
            for row in self.by_provider.rows_of(provider)
            if self.class_index[row] == class_index
        )

    def ids(self) -> Iterator[int]:
        """Every allocation id, ascending."""
        return iter(sorted(self.row_by_id))
