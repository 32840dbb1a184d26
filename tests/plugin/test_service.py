"""The plug-in beside a real service: understood, and not missed when it is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gantt_nova_plugin.advisor import Advisor
from nova import objects

from tests import live
from tests.plugin.clouds import filtered, hosts, spec, weighed
from tests.plugin.service import FREE_RAM_MB, start
from tests.plugin.test_failures import LIMIT_S, SLACK_S

Configure = Callable[..., Advisor]
NAMES = list(FREE_RAM_MB)


def group() -> Any:
    return objects.InstanceGroup(
        uuid="00000000-0000-0000-0000-00000000000a",
        policy="anti-affinity",
        members=[],
        hosts=["node3"],
    )


SPECS: dict[str, dict[str, object]] = {
    "a plain one": {},
    "of a group": {"instance_group": group()},
    "with a destination": {
        "requested_destination": objects.Destination(
            host="node2", aggregates=None, forbidden_aggregates=None
        )
    },
    "with an image": {
        "image": objects.ImageMeta(
            min_ram=64, properties=objects.ImageMetaProps(hw_architecture="x86_64")
        )
    },
    "of a resize": {
        "scheduler_hints": {"_nova_check_type": ["resize"]},
        "ignore_hosts": ["node2"],
    },
    "with PCI devices and NUMA": {
        "pci_requests": objects.InstancePCIRequests(
            requests=[objects.InstancePCIRequest(count=1, spec=[{"vendor_id": "8086"}])]
        ),
        "numa_topology": objects.InstanceNUMATopology(
            cells=[
                objects.InstanceNUMACell(id=0, cpuset={0, 1}, pcpuset=set(), memory=64)
            ]
        ),
    },
}


@pytest.mark.parametrize("what", SPECS)
def test_requests_of_nova_are_understood(
    what: str, configure: Configure, service: live.Live
) -> None:
    advisor = configure(mode="decide", url=service.url, timeout=1.0)
    request = spec(**SPECS[what])
    left = filtered(request, hosts(NAMES))
    weighed(request, hosts(NAMES))
    assert advisor.journal.counters() == {
        "asked": 2,
        "answered": 2,
        "hosts_removed": len(NAMES) - len(left),
    }
    assert "node1" not in left, "it is too small"


@pytest.mark.slow
def test_service_that_is_killed_or_stands_still_is_not_missed(
    configure: Configure, tmp_path: Path
) -> None:
    gantt = start(tmp_path)
    try:
        advisor = configure(
            mode="decide", url=gantt.url, timeout=1.0, breaker_seconds=0.0
        )
        assert filtered(spec(), hosts(NAMES)) == ["node2", "node3"]
        os.killpg(gantt.process.pid, signal.SIGSTOP)
        began = time.monotonic()
        assert filtered(spec(), hosts(NAMES)) == NAMES
        assert time.monotonic() - began < LIMIT_S + SLACK_S
        os.killpg(gantt.process.pid, signal.SIGCONT)
        assert filtered(spec(), hosts(NAMES)) == ["node2", "node3"]
        gantt.kill()
        for _ in range(10):
            assert filtered(spec(), hosts(NAMES)) == NAMES
        assert advisor.journal.counters() == {
            "asked": 13,
            "answered": 2,
            "failed_timeout": 1,
            "failed_connection": 10,
            "hosts_removed": 2,
        }
    finally:
        gantt.kill()
