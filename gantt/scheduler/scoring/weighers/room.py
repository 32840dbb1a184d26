"""Prefer hosts on which an instance costs the least room for the usual flavors.

Room is how many of the usual flavors a host still has place for, each by its worth and
by how often it is asked for. What is left over beside an instance, and fits none of
them, is stranded: it was lost before, so it costs nothing to take. Off unless its
multiplier is configured, or ``packing`` is ``room``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import shape
from gantt.scheduler.request.usual_flavors import DISK_GB, MEMORY_MB, OF_HOSTS, VCPU
from gantt.scheduler.scoring.mix import Left, mix_of
from gantt.state.column import Floats

_OF_FULLNESS: Final = 1e-3
"""Of two hosts on which an instance costs as much room, the fuller one is better."""
_BLOCK: Final = 4096


class RoomWeigher(Weigher):
    """The score is minus the room that the instance would cost, in mean flavors, and a
    little less for each part of the host that stays free."""

    cacheable = Cacheable(
        needs=tuple(
            (
                "vcpus_total vcpus_used cpu_ratio total_ram_mb free_ram_mb ram_ratio "
                "total_disk_gb free_disk_mb disk_ratio provider rooms"
            ).split()
        ),
        reads=tuple(
            (
                "flavor image is_bfv requested_resources numa_topology pci_requests "
                "network_metadata request_level_params"
            ).split()
        ),
        elementwise=True,
    )
    option = "room_weight_multiplier"

    def score(self, hosts: Hosts, request: Request) -> Floats:
        mix = mix_of(request.options.usual_flavors)
        taken = request.derived(_pieces, None)
        classes = mix.classes | {*OF_HOSTS, *taken}
        total, left = _left(hosts, sorted(classes))
        scores = np.empty(len(hosts))
        for start in range(0, len(hosts), _BLOCK):
            part = slice(start, start + _BLOCK)
            before = {name: values[part] for name, values in left.items()}
            after = {
                name: _less(values, taken.get(name, ()), name)
                for name, values in before.items()
            }
            cost = mix.room(before) - mix.room(after)
            cost += _OF_FULLNESS * _free(after, {n: v[part] for n, v in total.items()})
            scores[part] = -cost
        return scores


def _pieces(
    spec: RequestSpec,
    options: SchedulerOptions,  # noqa: ARG001
    argument: None,  # noqa: ARG001
) -> dict[str, tuple[int, ...]]:
    return shape.pieces(spec)


def _left(hosts: Hosts, classes: list[str]) -> tuple[Left, Left]:
    """What hosts have in all, of what they report, and what is left of ``classes``."""
    disk_gb, ram_mb = hosts.total_disk_gb, hosts.total_ram_mb
    total = {
        VCPU: hosts.vcpus_total * hosts.cpu_ratio,
        MEMORY_MB: ram_mb * hosts.ram_ratio,
        DISK_GB: disk_gb * hosts.disk_ratio,
    }
    used = {
        VCPU: hosts.vcpus_used,
        MEMORY_MB: ram_mb - hosts.free_ram_mb,
        DISK_GB: disk_gb - hosts.free_disk_mb / 1024,
    }
    left = {
        name: np.maximum(total[name] - used[name], 0.0)[:, None]
        if name in OF_HOSTS
        else hosts.left_of(name)
        for name in classes
    }
    for name in OF_HOSTS:  # a host without any does not count it
        left[name][total[name] <= 0] = np.inf
    return {name: total[name][:, None] for name in OF_HOSTS}, left


def _less(left: Floats, pieces: tuple[int, ...], name: str) -> Floats:
    """Without ``pieces``, each taken from the provider that has the least left of those
    that have enough."""
    if not pieces:
        return left
    if name in OF_HOSTS:
        return np.maximum(left - sum(pieces), 0.0)
    found = left.copy()
    if not found.shape[1]:
        return found
    lines = np.arange(len(found))
    for amount in pieces:
        tightest = np.where(found >= amount, found, np.inf).argmin(1)
        found[lines, tightest] -= np.where(
            found[lines, tightest] >= amount, amount, 0.0
        )
    return found


def _free(left: Left, total: Left) -> Floats:
    """float64[n], 0 … 1: the mean part that is free of what hosts report."""
    found = np.zeros(len(left[VCPU]))
    for name, whole in total.items():
        is_counted = whole[:, 0] > 0
        found[is_counted] += left[name][is_counted, 0] / whole[is_counted, 0]
    return found / len(OF_HOSTS)
