"""Whether what is allocated is what the instances are, by the tables of both sides."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.cloud.cloud import Cloud
from tests.cloud.processes import run, wait_until

INSTANCES = """
SELECT i.uuid, c.uuid, i.vcpus, i.memory_mb, i.root_gb + i.ephemeral_gb
FROM instances i
JOIN compute_nodes c ON c.host = i.host AND c.hypervisor_hostname = i.node
WHERE i.deleted = 0 AND c.deleted = 0
"""
# Their sources are held until they are confirmed or reverted.
UNCONFIRMED = """
SELECT m.uuid, c.uuid, x.flavor
FROM migrations m
JOIN compute_nodes c
  ON c.host = m.source_compute AND c.hypervisor_hostname = m.source_node
JOIN instance_extra x ON x.instance_uuid = m.instance_uuid
WHERE m.deleted = 0 AND c.deleted = 0 AND m.status = 'finished'
"""
UNDER_WAY = """
SELECT (SELECT COUNT(*) FROM instances WHERE deleted = 0 AND task_state IS NOT NULL)
+ (SELECT COUNT(*) FROM migrations WHERE deleted = 0 AND status NOT IN
   ('cancelled', 'completed', 'confirmed', 'done', 'error', 'failed', 'finished',
    'reverted'))
"""
ALLOCATIONS = """
SELECT a.consumer_id, p.uuid, k.name, a.used
FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id
JOIN resource_classes k ON k.id = a.resource_class_id
"""
SETTLE_S = 90.0

Held = dict[str, dict[str, dict[str, int]]]


class Books:
    """The tables of Nova's cell and of Placement. Checks raise AssertionError."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._cell = cloud.settings.databases["nova_cell1"]
        self._placement = cloud.settings.databases["placement"]

    def allocations(self) -> Held:
        """Consumer -> provider -> resource class -> amount."""
        found: Held = defaultdict(lambda: defaultdict(dict))
        for consumer, provider, name, used in self._rows(ALLOCATIONS, self._placement):
            found[consumer][provider][name] = used
        return {consumer: dict(held) for consumer, held in found.items()}

    def instances(self) -> Held:
        """What each instance on a host, and each migration that awaits its
        confirmation, should hold, in the same form."""
        found = {
            uuid: {node: _amounts(*amounts)}
            for uuid, node, *amounts in self._rows(INSTANCES, self._cell)
        }
        for uuid, node, flavor in self._rows(UNCONFIRMED, self._cell):
            old = json.loads(flavor)["old"]["nova_object.data"]
            disk_gb = old["root_gb"] + old["ephemeral_gb"]
            found[uuid] = {node: _amounts(old["vcpus"], old["memory_mb"], disk_gb)}
        return found

    def check(self) -> None:
        """Allocations equal instances, once nothing is under way."""
        wait_until(self._is_idle, "the end of what is under way", within_s=SETTLE_S)
        try:
            wait_until(
                lambda: self.allocations() == self.instances(), "", within_s=SETTLE_S
            )
        except AssertionError:
            assert self.allocations() == self.instances()

    def audit(self) -> None:
        """What the tools of both sides say."""
        # Its exit status says whether it found anything.
        self._cloud.nova_manage("placement", "audit", "--verbose")
        ours = str(Path(sys.executable).with_name("gantt-manage"))
        run(ours, "--config-file", str(self._cloud.files["gantt"]), "verify")

    def _is_idle(self) -> bool:
        return not self._rows(UNDER_WAY, self._cell)[0][0]

    def _rows(self, statement: str, url: str) -> list[Any]:
        return self._cloud.database.execute(statement, url=url)


def _amounts(vcpus: int, memory_mb: int, disk_gb: int) -> dict[str, int]:
    named = {"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": int(disk_gb)}
    return {name: amount for name, amount in named.items() if amount}
