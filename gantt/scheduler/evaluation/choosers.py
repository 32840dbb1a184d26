"""Drivers of other packages, guarded as filters and weighers are.

Apart from ``guards`` because what one answers is an order, of which hosts are taken
while instances are placed. It reads a copy of the hosts and is asked ``outside``, where
it holds no lock; its answer is checked there, too.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import PluginFailed, Refused
from gantt.scheduler.contract import Chooser
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.feasibility import server_groups
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.plugins.guards import Blame, call_outside, described
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Check, Outside
from gantt.state.column import Floats, Int64s

# Methods by which drivers of other packages were asked before.
_FORMER: Final = ("feasible_hosts", "field")


class Chosen(Struct, frozen=True, eq=False):
    """``orders``: per instance int64[k], rows of ``state.hosts`` to try, the best
    first. ``places``: int64[m], the places of all hosts that any instance may try, and
    ``rows``: int64[m], their rows, in the order in which they are first named."""

    orders: tuple[Int64s, ...]
    places: Int64s
    rows: Int64s


class GuardedChooser:
    """``name``: of the entry point; ``mask_name``: of the hosts that it leaves out, in
    records of decisions."""

    def __init__(self, name: str, wrapped: object, outside: Outside = IN_PLACE) -> None:
        """Raises Refused where it is no chooser."""
        self.name, self.mask_name = name, f"driver {name}"
        self._blame = Blame("driver", name, wrapped)
        self._outside = outside
        label = self._blame.label
        if not isinstance(wrapped, Chooser):
            raise Refused(
                f"{label} must be a gantt.scheduler.contract.Chooser "
                "(docs/how-to/plugins.md)."
            )
        if type(wrapped).choose is Chooser.choose:
            raise Refused(f"{label} has no method choose: give it one.")
        self._asked = wrapped

    def choose(
        self,
        feasible: FeasibleHosts,
        hosts: Hosts,
        weights: Floats,
        count: int,
        seed: int,
    ) -> Chosen | None:
        """What it chooses among ``hosts``, which pass; None: it is not asked, because
        there are none or an operator forces them, or the instance is there already.
        Raises PluginFailed, Invalid, Moved."""
        request = feasible.request
        if request.spec.instance_group is not None:
            spec = server_groups.completed(hosts, request.spec)
            request = replace(request, spec=spec, known={})
        is_settled = skips_filters(request.spec) or request.spec.is_rebuild
        if is_settled or not len(hosts):
            return None
        rows = hosts.rows
        seen = hosts.on(self._outside.frozen(hosts.fleet))
        given = weights.copy()
        given.flags.writeable = False

        def ask(_: Check) -> Chosen:
            found = self._blame.call(
                self._asked.choose, copy(seen), given, request, count=count, seed=seed
            )
            return self._as_chosen(found, rows, count)

        return call_outside(self._outside, self._blame, ask)

    def _as_chosen(self, found: Any, rows: Int64s, count: int) -> Chosen:
        if not isinstance(found, list | tuple) or len(found) != count:
            size = f" of {len(found)}" if isinstance(found, list | tuple) else ""
            raise self._failed(
                f"gave {described(found)}{size}: a list of {count} was asked for, an "
                "array of places for each instance"
            )
        is_named = np.zeros(len(rows), np.bool_)
        orders: dict[int, Int64s] = {}  # the same array may stand for many instances
        places = [np.zeros(0, np.int64)]
        for one in found:
            if id(one) not in orders:
                order = self._as_order(one, len(rows))
                orders[id(one)] = rows[order]
                places.append(order[~is_named[order]])
                is_named[order] = True
        together = np.concatenate(places)
        return Chosen(tuple(orders[id(one)] for one in found), together, rows[together])

    def _as_order(self, found: Any, size: int) -> Int64s:
        if (
            not isinstance(found, np.ndarray)
            or found.dtype.kind not in "iu"
            or found.ndim != 1
        ):
            raise self._failed(
                f"gave {described(found)} for an instance: int64[at most {size}] was "
                "asked for, places in hosts, the best first"
            )
        # A plain copy: what it keeps is not ours to read later, and a subclass (a
        # masked array) compares in a way of its own.
        order: Int64s = np.array(found, np.int64, subok=False)
        is_odd = (order < 0) | (order >= size)
        if is_odd.any():
            raise self._failed(
                f"gave place {found[is_odd.argmax()]} for an instance: places are 0 to "
                f"{size - 1}, one for each host that was given"
            )
        counts = np.bincount(order, minlength=size)
        if counts.max() > 1:
            raise self._failed(
                f"gave place {counts.argmax()} {counts.max()} times for one instance: "
                "name each host at most once"
            )
        return order

    def _failed(self, text: str) -> PluginFailed:
        return self._blame.failed(text)


def guarded(
    name: str, plugin: Callable[[], object], outside: Outside = IN_PLACE
) -> GuardedChooser:
    """What ``plugin``, a class or function, makes. Raises Refused where it is no driver
    (any more), and what it raises."""
    former = [one for one in _FORMER if hasattr(plugin, one)]
    if former:
        raise Refused(
            f"The driver {name} decides by {former[0]}, which is no longer asked: make "
            "it a gantt.scheduler.contract.Chooser with the method choose "
            "(docs/how-to/plugins.md), or name another driver."
        )
    return GuardedChooser(name, plugin(), outside)
