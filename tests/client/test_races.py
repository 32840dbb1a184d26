"""A write without a generation is retried after concurrent writes, within limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from gantt import errors
from gantt.client.exchange import MAX_TRIES, until_settled
from gantt.client.remote import RemoteGantt
from gantt.model.commands import Inventory


def test_lost_races_are_retried_up_to_a_limit() -> None:
    attempts = []

    def lose(times: int) -> Any:
        def attempt() -> int:
            attempts.append(1)
            if len(attempts) <= times:
                raise errors.ConcurrentUpdate("another write came first")
            return len(attempts)

        attempts.clear()
        return attempt

    assert until_settled(lose(MAX_TRIES - 1)) == MAX_TRIES
    with pytest.raises(errors.ConcurrentUpdate):
        until_settled(lose(MAX_TRIES))


def test_other_refusals_are_not_retried() -> None:
    attempts = []

    def attempt() -> None:
        attempts.append(1)
        raise errors.InventoryInUse("in use")

    with pytest.raises(errors.InventoryInUse):
        until_settled(attempt)
    assert len(attempts) == 1


def test_concurrent_writers_of_a_provider_all_succeed(service: str) -> None:
    remote = RemoteGantt(service)
    uuid = remote.create_provider(f"race-{uuid4().hex}").uuid
    classes = [f"CUSTOM_{uuid4().hex[:8].upper()}" for _ in range(4)]
    for name in classes:
        remote.create_resource_class(name)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda name: remote.set_inventory(uuid, name, Inventory(total=1)),
                classes,
            )
        )
    assert set(remote.get_inventories(uuid).inventories) == set(classes)
    remote.close()
