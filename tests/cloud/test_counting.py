"""Devices and dedicated CPUs are given to the last one, while they are counted.

A compute counts them when it starts a server, and its row is read seconds later:
meanwhile they are promised. Neither is to be counted twice, nor promised twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cloud.settings import FEED_S
from tests.cloud.tenant import Shape, Tenant

SETUPS = frozenset({"upstream", "gantt"})
COUNT = 4  # of each, on the host with compute_with_devices.py
WITH_DEVICE = Shape(1, 512, extra=(("pci_passthrough:alias", "fast:1"),))
PINNED = Shape(1, 512, extra=(("hw:cpu_policy", "dedicated"),))


@pytest.fixture
def emptied(tenant: Tenant) -> Iterator[Tenant]:
    """Books of dedicated CPUs are not those that follow from a flavor's VCPUs."""
    yield tenant
    tenant.clear()


@pytest.mark.parametrize("shape", [WITH_DEVICE, PINNED], ids=["devices", "pinned CPUs"])
def test_all_are_given_and_none_twice(emptied: Tenant, shape: Shape) -> None:
    servers = [emptied.boot(shape) for _ in range(COUNT - 1)]
    # A row that counts them was read, and the next one is a minute away.
    time.sleep(FEED_S + 1)
    servers.append(emptied.boot(shape))
    assert {emptied.host(server) for server in servers} == {"host2"}
    failed = emptied.wait_for(emptied.ask(shape), "ERROR")
    assert "No valid host" in failed.fault["message"]
