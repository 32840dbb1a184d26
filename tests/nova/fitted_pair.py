"""Both decide about instances with NUMA cells and devices: the plan, as each reads it.

``Corrected`` is Nova with what docs/deviations.md lists put right, each by itself, so
that a difference is allowed only where it goes away with its cause.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from unittest import mock

from msgspec.structs import replace
from nova import exception, objects
from nova.pci import request as pci_request
from nova.virt import hardware

from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from tests.nova import fitted_worlds, upstream
from tests.nova.fitted_worlds import ALIASES, BOTH, Ask
from tests.nova.pair import Pair
from tests.nova.upstream_topology import ascending, packing
from tests.scheduler.fleets import Plan

REFUSED = (exception.NovaException, ValueError)
FRESH_FITS = "what was tried before changes the request"
FRESH_REQUESTS = "what the instance before was given becomes the request"
BOUNDS = "hosts that do not fit count for the bounds of scores"
MENDS = (FRESH_FITS, FRESH_REQUESTS, BOUNDS)

_fit = hardware.numa_fit_instance_to_host


class FittedPair(Pair):
    """``spec``: as ours read it, derived or given. Raises what Nova's API does."""

    def __init__(
        self, plan: Plan, spec: RequestSpec, ask: Ask, options: SchedulerOptions
    ) -> None:
        super().__init__(plan, replace(spec, pci_requests=ask.ports), options)
        self._ask = ask
        bare = super().asked()
        self._topology = hardware.numa_get_constraints(bare.flavor, bare.image)
        self._devices = self._requests(bare)
        if ask.is_given:
            self.spec = fitted_worlds.as_given(spec, self.asked().obj_to_primitive())

    def _requests(self, bare: Any) -> list[Any]:
        policy = hardware.get_pci_numa_policy_constraint(bare.flavor, bare.image)
        found = pci_request.get_pci_requests_from_flavor(bare.flavor, policy)
        of_ports = [objects.InstancePCIRequest(**one) for one in self._ask.ports]
        for one in of_ports:
            if "numa_policy" not in one:
                one.numa_policy = policy
        return [*found.requests, *of_ports]

    def asked(self) -> Any:
        made = super().asked()
        made.numa_topology = self._topology and self._topology.obj_clone()
        requests = [one.obj_clone() for one in self._devices]
        made.pci_requests = objects.InstancePCIRequests(requests=requests)
        return made

    def states(self) -> list[Any]:
        """With one candidate each, as from a Placement without devices."""
        found = super().states()
        for state in found:
            state.allocation_candidates = [{"mappings": {}}]
        return found


@contextmanager
def opened(
    plan: Plan, spec: RequestSpec, ask: Ask, options: SchedulerOptions
) -> Iterator[FittedPair | Exception]:
    """Nova configured by the same options; an error with which its API refuses."""
    aliases = [json.dumps(one) for one in ALIASES]
    with ExitStack() as stack:
        stack.enter_context(upstream.configured(options))
        stack.enter_context(ascending())
        stack.enter_context(
            packing(options.packing_host_numa_cells_allocation_strategy)
        )
        upstream.CONF.set_override("alias", aliases, "pci")
        stack.callback(pci_request.get_alias_from_config.cache_clear)
        stack.callback(upstream.CONF.clear_override, "alias", "pci")
        pci_request.get_alias_from_config.cache_clear()
        try:
            pair: FittedPair | Exception = FittedPair(plan, spec, ask, options)
        except REFUSED as error:
            pair = error
        yield pair


# -- Nova with differences put right --------------------------------------------------


@contextmanager
def corrected(
    mends: tuple[str, ...], scheduler: Any, passing: Callable[[Any], bool]
) -> Iterator[None]:
    """``passing``: whether a host passes our masks, exact fits aside."""
    with ExitStack() as stack:
        if FRESH_FITS in mends:
            stack.enter_context(
                mock.patch.object(hardware, "numa_fit_instance_to_host", fit_afresh)
            )
        if FRESH_REQUESTS in mends:
            _give_each_its_own(scheduler)
        if BOUNDS in mends:
            _fit_after_weighing(scheduler, passing)
        yield


@contextmanager
def _permuted(permute: Callable[[Any, int], Any]) -> Iterator[None]:
    changed = SimpleNamespace(**{**vars(itertools), "permutations": permute})
    with mock.patch.object(hardware, "itertools", changed):
        yield


def fit_afresh(host: Any, instance: Any, **others: Any) -> Any:
    """Nova's function, asked about each order of cells with a request of its own."""
    orders: list[Any] = []

    def seen(cells: Any, _: int) -> list[Any]:
        orders.append(list(cells))
        return []

    with _permuted(seen):
        _fit(host, instance, **others)
    cells = orders[0] if orders else []
    for chosen in itertools.permutations(cells, len(instance)):
        with _permuted(lambda *_, one=chosen: [one]):
            found = _fit(host, instance.obj_clone(), **others)
        if found is not None:
            return found
    return None


def _give_each_its_own(scheduler: Any) -> None:
    consume = scheduler._consume_selected_host

    def consumed(host: Any, spec: Any, instance_uuid: Any = None) -> None:
        asked = spec.numa_topology and spec.numa_topology.obj_clone()
        consume(host, spec, instance_uuid=instance_uuid)
        spec.numa_topology = asked

    scheduler._consume_selected_host = consumed


def _fit_after_weighing(scheduler: Any, passing: Callable[[Any], bool]) -> None:
    """The filters that fit are asked once all hosts that pass the others, and our
    masks, are weighed; a host that does not fit is weighed again next time."""
    manager = scheduler.host_manager
    before, weigh = manager.get_filtered_hosts, manager.get_weighed_hosts
    fitting = [one for one in manager.enabled_filters if type(one).__name__ in BOTH]
    manager.enabled_filters = [
        one for one in manager.enabled_filters if one not in fitting
    ]
    weighed_before: list[Any] = []

    def filtered(hosts: Any, spec: Any, index: int = 0) -> Any:
        hosts = weighed_before if index else filter(passing, hosts)
        weighed_before[:] = before(list(hosts), spec, index)
        return list(weighed_before)

    def weighed(hosts: Any, spec: Any) -> Any:
        return [
            one
            for one in weigh(list(hosts), spec)
            if all(each._filter_one(one.obj, spec) for each in fitting)
        ]

    def in_order(*args: Any) -> Any:
        with suppress(IndexError):  # it draws from hosts that it takes to be some
            return sort(*args)
        return []

    manager.get_filtered_hosts, manager.get_weighed_hosts = filtered, weighed
    sort, scheduler._get_sorted_hosts = scheduler._get_sorted_hosts, in_order
