"""What hosts report during a replay: the instances that run there, and what they use.

A claim is pending until its host's report counts the instance, as in a real cloud.
Without reports, weighers that count instances being built would spread what others
stack.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from gantt.model.commands import UpdateHost
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor
from gantt.replay.machines import Machine, empty_stats, uuid_of
from gantt.replay.replay_books import ReplayBooks


class _Host(Struct):
    """``uuid``: of its root provider. ``instances``: uuid -> flavor."""

    uuid: str
    empty: HostStats
    instances: dict[str, Flavor] = field(default_factory=dict)
    vcpus: int = 0
    memory_mb: int = 0
    disk_gb: int = 0

    def add(self, flavor: Flavor, sign: int) -> None:
        self.vcpus += sign * flavor.vcpus
        self.memory_mb += sign * flavor.memory_mb
        self.disk_gb += sign * (flavor.root_gb + flavor.ephemeral_gb)


class MachineReports:
    """The reports of all machines of a replay."""

    def __init__(self, machines: Iterable[Machine]) -> None:
        self._hosts = {
            one.name: _Host(uuid_of(one.name), empty_stats(one)) for one in machines
        }
        self._host_of: dict[str, str] = {}
        self._changed: dict[str, None] = {}

    def placed(self, uuid: str, host: str, flavor: Flavor) -> None:
        """The instance runs on the host from now on."""
        one = self._hosts[host]
        one.instances[uuid] = flavor
        one.add(flavor, 1)
        self._host_of[uuid] = host
        self._changed[host] = None

    def gone(self, uuid: str) -> None:
        """The instance is gone."""
        host = self._host_of.pop(uuid)
        one = self._hosts[host]
        one.add(one.instances.pop(uuid), -1)
        self._changed[host] = None

    def send(self, books: ReplayBooks) -> int:
        """Report each host on which something changed since; how many."""
        changed, self._changed = self._changed, {}
        for name in changed:
            books.submit(self._report(name))
        return len(changed)

    def _report(self, name: str) -> UpdateHost:
        one = self._hosts[name]
        empty = one.empty
        stats = HostStats(
            uuid=empty.uuid,
            vcpus_used=one.vcpus,
            memory_mb_used=one.memory_mb,
            local_gb_used=one.disk_gb,
            free_ram_mb=_left(empty.memory_mb, one.memory_mb),
            free_disk_gb=_left(empty.local_gb, one.disk_gb),
            disk_available_least=_left(empty.local_gb, one.disk_gb),
            running_vms=len(one.instances),
            instances=tuple(one.instances),
            lists_instances=True,
        )
        return UpdateHost(name, name, stats, one.uuid, writes_books=False)


def _left(total: object, used: int) -> int:
    return (total if isinstance(total, int) else 0) - used
