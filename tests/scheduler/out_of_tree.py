"""Filters and weighers as people wrote them for Nova, of several ages, without Nova."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats


class RackFilter:
    """Of today: objects with attributes."""

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        wanted = spec_obj.get_scheduler_hint("rack")
        host_state.limits["memory_mb"] = host_state.total_usable_ram_mb * 1.5
        host_state.limits["numa_topology"] = {"cells": []}
        return wanted is None or host_state.stats.get("rack") == wanted


class OldRamFilter:
    """Of Icehouse: filter properties are a dict."""

    def host_passes(self, host_state: Any, filter_properties: Any) -> bool:
        instance_type = filter_properties.get("instance_type")
        hints = filter_properties.get("scheduler_hints") or {}
        spec = filter_properties["request_spec"]
        properties = spec.get("image", {}).get("properties", {})
        factor = int(properties.get("factor", 1))
        wanted = instance_type["memory_mb"] * factor
        return bool(host_state.free_ram_mb >= wanted) and "never" not in hints


class EmptiestFilter:
    """Looks at all hosts at once."""

    def filter_all(self, hosts: Iterable[Any], spec_obj: Any) -> Iterator[Any]:
        known = list(hosts)
        least = min(host.num_instances for host in known)
        for host in known:
            if host.num_instances == least:
                yield host


class NoHostFilter:
    def filter_all(self, hosts: Any, spec_obj: Any) -> None:
        return None


class StrangerFilter:
    def filter_all(self, hosts: Any, spec_obj: Any) -> list[Any]:
        return ["who?"]


class FailingFilter:
    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        if host_state.host == "h1":
            raise KeyError("no such thing")
        return True


class FailingAllFilter:
    def filter_all(self, hosts: Any, spec_obj: Any) -> Iterator[Any]:
        yield from (host for host in hosts if 1 / 0)


class NotAFilter:
    """Neither one thing nor the other."""


class UnmakeableFilter:
    def __init__(self) -> None:
        raise OSError("no licence")

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return True


class OddIndexFilter:
    """Says for itself when it runs."""

    def run_filter_for_index(self, index: int) -> bool:
        return index == 0

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return True


class OwnFilter(Filter):
    """Written for Gantt."""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return np.ones(len(hosts), np.bool_)


class ComputeFilter(OwnFilter):
    """A site's own, under a name that is taken."""


class PowerWeigher:
    """Of today: a multiplier per host, fixed ends."""

    minval = 0
    maxval = 10

    def weight_multiplier(self, host_state: Any) -> float:
        values = [
            float(one.metadata["power"])
            for one in host_state.aggregates
            if "power" in one.metadata
        ]
        return min(values, default=2.0)

    def _weigh_object(self, host_state: Any, weight_properties: Any) -> Any:
        return int(host_state.stats.get("power", 0))


class OldWeigher:
    """Of Havana: one multiplier for all, weights of all hosts at once."""

    def _weight_multiplier(self) -> float:
        return -1.0

    def weigh_objects(self, weighed: list[Any], properties: Any) -> list[float]:
        return [one.obj.free_disk_mb + one.weight for one in weighed]


class ShortWeigher:
    def weigh_objects(self, weighed: list[Any], properties: Any) -> list[float]:
        return [1.0]


class NanWeigher:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> Any:
        return float("nan")


class NoneWeigher:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> Any:
        return None


class FailingWeigher:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> Any:
        raise RuntimeError("meter is broken")


class OwnWeigher(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        return np.zeros(len(hosts))


def all_of_mine() -> list[type]:
    return [RackFilter, OwnFilter]


def all_my_weighers() -> list[type]:
    return [PowerWeigher, OwnWeigher]


def no_classes() -> list[object]:
    return [3]


def broken() -> list[type]:
    raise ValueError("not today")
