"""Runs filters and weighers written for Nova, unchanged.

They look at one host at a time, as objects with Nova's names; ours look at all hosts at
once. Kept apart so that nothing else knows of the difference. A host for which a filter
fails is refused, and the log names both; a filter that fails for every host, and any
other failure, makes the request fail by its name.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gantt.errors import Refused
from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.feasibility import server_groups
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.guards import Blame, call_outside, words
from gantt.scheduler.plugins.nova_host import LegacyHost, LegacyHosts
from gantt.scheduler.plugins.nova_object import LegacyObject
from gantt.scheduler.plugins.nova_spec import LegacySpec
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Check, Outside
from gantt.state.column import Bools, Floats

LOG = logging.getLogger(__name__)
_LIMITS = ("vcpu", "memory_mb", "disk_gb")

NOVA_BASES = frozenset(
    {
        "nova.filters",
        "nova.scheduler.filters",
        "nova.weights",
        "nova.scheduler.weights",
    }
)
"""Modules of the classes that plug-ins for Nova inherit from."""


class LegacyFilter(Filter):
    """An object with ``host_passes(host_state, spec)`` or ``filter_all(hosts, spec)``.

    Raises Refused when it has neither.
    """

    is_costly = True

    def __init__(self, wrapped: Any, outside: Outside = IN_PLACE) -> None:
        self._wrapped = wrapped
        self._outside = outside
        self._blame = Blame("filter", type(wrapped).__name__, wrapped)
        self._all = _own_method(wrapped, "filter_all")
        self._one = _own_method(wrapped, "_filter_one") or getattr(
            wrapped, "host_passes", None
        )
        if self._all is None and self._one is None:
            raise Refused(
                f"{_path(wrapped)} is no filter: it has neither host_passes nor "
                "filter_all."
            )
        self.failures: deque[str] = deque(maxlen=1)
        self.once = _runs_once(wrapped, self._blame)
        self.on_rebuild = bool(getattr(wrapped, "RUN_ON_REBUILD", False))

    @property
    def name(self) -> str:
        return type(self._wrapped).__name__

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        seen, spec = _seen(self._outside, hosts, request), _spec_of(hosts, request)
        return call_outside(
            self._outside,
            self._blame,
            lambda check: self._judged(seen.all(), spec, check),
        )

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:
        # Nova's filters leave limits on the host that they judge.
        view = LegacyHost(_seen(self._outside, hosts, request), place)
        spec = _spec_of(hosts, request)

        def ask(check: Check) -> dict[str, int]:
            self._judged([view], spec, check)
            found: dict[str, int] = _asked(self._blame, _limits_of, view, view)
            return found

        return call_outside(self._outside, self._blame, ask)

    def _judged(self, views: list[LegacyHost], spec: LegacySpec, check: Check) -> Bools:
        if self._all is not None:
            return self._judged_at_once(self._all, views, spec)
        found = np.zeros(len(views), np.bool_)
        failures: list[tuple[LegacyHost, BaseException]] = []
        for place, view in enumerate(views):
            check()
            try:
                found[place] = self._passes(view, spec)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failures.append((view, error))
        if failures:
            self._refuse(failures, len(views))
        return found

    def _refuse(
        self, failures: list[tuple[LegacyHost, BaseException]], asked: int
    ) -> None:
        """Tell of hosts for which it failed. Raises PluginFailed where that is all."""
        view, error = failures[0]
        failed = self._blame.raised(_of(view), error)
        self.failures.append(f"{view.host} ({view.nodename}): {words(error)}")
        if len(failures) == asked:
            raise failed from error
        LOG.warning(
            "%s refuses %d of %d hosts because it failed for them; the first is %s "
            "(%s): %s",
            self._blame.label,
            len(failures),
            asked,
            view.host,
            view.nodename,
            words(error),
        )

    def _passes(self, view: LegacyHost, spec: LegacySpec) -> bool:
        assert self._one is not None
        return bool(self._one(view, spec))

    def _judged_at_once(
        self, judge: Callable[..., Any], views: list[LegacyHost], spec: LegacySpec
    ) -> Bools:
        found = np.zeros(len(views), np.bool_)
        place_of = {id(view): place for place, view in enumerate(views)}

        def passing() -> list[Any]:
            # None is its way to say that no host passes.
            return list(judge(list(views), spec) or ())

        for one in _asked(self._blame, passing, None):
            place = place_of.get(id(one))
            if place is None:
                raise self._blame.failed(
                    f"let {one!r} pass, which is none of the hosts that it was given"
                )
            found[place] = True
        return found


class LegacyWeigher(Weigher):
    """An object with ``_weigh_object(host_state, spec)`` or ``weigh_objects``.

    Raises Refused when it has neither.
    """

    def __init__(self, wrapped: Any, outside: Outside = IN_PLACE) -> None:
        self._wrapped = wrapped
        self._outside = outside
        self._blame = Blame("weigher", type(wrapped).__name__, wrapped)
        self._all = _own_method(wrapped, "weigh_objects")
        self._one = getattr(wrapped, "_weigh_object", None)
        if self._all is None and self._one is None:
            raise Refused(
                f"{_path(wrapped)} is no weigher: it has neither _weigh_object nor "
                "weigh_objects."
            )
        self.minval = getattr(wrapped, "minval", None)
        self.maxval = getattr(wrapped, "maxval", None)
        # Before Train it was asked without a host, before Icehouse by another name.
        self._factor = getattr(wrapped, "weight_multiplier", None) or getattr(
            wrapped, "_weight_multiplier", None
        )

    @property
    def name(self) -> str:
        return type(self._wrapped).__name__

    def multiplier(self, hosts: Hosts, options: SchedulerOptions) -> float | Floats:
        if self._factor is None:
            return 1.0
        factor = self._factor
        seen = LegacyHosts(hosts.on(self._outside.frozen(hosts.fleet)), options)

        def ask(check: Check) -> float | Floats:
            if not inspect.signature(factor).parameters:
                return self._number(_asked(self._blame, factor, None), None)
            return self._each(factor, seen.all(), check)

        return call_outside(self._outside, self._blame, ask)

    def score(self, hosts: Hosts, request: Request) -> Floats:
        seen, spec = _seen(self._outside, hosts, request), _spec_of(hosts, request)
        return call_outside(
            self._outside,
            self._blame,
            lambda check: self._weighed(seen.all(), spec, check),
        )

    def _weighed(
        self, views: list[LegacyHost], spec: LegacySpec, check: Check
    ) -> Floats:
        if self._all is None:
            return self._each(self._one, views, check, spec)
        weighed = [LegacyObject(obj=view, weight=0.0) for view in views]
        found = list(_asked(self._blame, self._all, None, weighed, spec))
        if len(found) != len(views):
            raise self._blame.failed(
                f"gave {len(found)} weights for {len(views)} hosts: one for each was "
                "asked for"
            )
        return self._numbers(found, views)

    def _each(
        self, method: Any, views: list[LegacyHost], check: Check, *more: object
    ) -> Floats:
        """What ``method`` says of host after host."""

        def ask(view: LegacyHost) -> Any:
            check()
            return _asked(self._blame, method, view, view, *more)

        return self._numbers(map(ask, views), views)

    def _numbers(self, values: Any, views: list[LegacyHost]) -> Floats:
        found = np.zeros(len(views))
        for place, (value, view) in enumerate(zip(values, views, strict=True)):
            found[place] = self._number(value, view)
        return found

    def _number(self, value: Any, view: LegacyHost | None) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise self._blame.failed(
                f"gave {value!r}{_of(view)}: a weight must be a finite number"
            )
        return number


def _seen(outside: Outside, hosts: Hosts, request: Request) -> LegacyHosts:
    return LegacyHosts(hosts.on(outside.frozen(hosts.fleet)), request.options)


def _spec_of(hosts: Hosts, request: Request) -> LegacySpec:
    """With the server group as Nova's conductor completes it."""
    return LegacySpec(server_groups.completed(hosts, request.spec))


def _asked(blame: Blame, method: Any, view: LegacyHost | None, *given: Any) -> Any:
    """What the plug-in answers. Raises PluginFailed with its name."""
    try:
        return method(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise blame.raised(_of(view), error) from error


def _limits_of(view: LegacyHost) -> dict[str, int]:
    """Those that Nova's SchedulerLimits has; it ignores others, too."""
    found = ((name, view.limits.get(name)) for name in _LIMITS)
    return {name: int(value) for name, value in found if isinstance(value, int | float)}


def _of(view: LegacyHost | None) -> str:
    return "" if view is None else f" for host {view.host} ({view.nodename})"


def _path(wrapped: Any) -> str:
    return f"{type(wrapped).__module__}.{type(wrapped).__name__}"


def _own_method(wrapped: Any, name: str) -> Callable[..., Any] | None:
    """The method, unless it is the one of Nova's own base classes: those only call
    another one host by host, which is done here so that a failure names the host."""
    method: Callable[..., Any] | None = getattr(wrapped, name, None)
    return None if getattr(method, "__module__", None) in NOVA_BASES else method


def _runs_once(wrapped: Any, blame: Blame) -> bool:
    runs_for = getattr(wrapped, "run_filter_for_index", None)
    if runs_for is None:
        return bool(getattr(wrapped, "run_filter_once_per_request", False))
    try:
        return not runs_for(1)
    except (Exception, SystemExit) as error:
        raise Refused(
            f"{blame.label} failed in run_filter_for_index: {words(error)}."
        ) from error
