"""Filters and weighers of other packages, guarded (drivers: ``choosers``).

Whatever one does wrong (it raises, answers something else than was asked, reads what it
did not declare, or does not return in time) refuses the request, by its name: no host
passes for it, and no other part is blamed. It is called ``outside``, where it holds no
lock, and reads a copy of the fleet. Ours are not guarded: our tests hold them to the
same. Nova's classes are guarded by ``nova``.
"""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Callable
from copy import copy
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

import numpy as np
from msgspec.structs import replace

from gantt.errors import Invalid, PluginFailed, Refused, shortened
from gantt.scheduler.contract import ALWAYS, Cacheable, Filter, Request, Weigher
from gantt.scheduler.feasibility import server_groups
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins import declared_reads
from gantt.scheduler.plugins.declared_reads import UndeclaredReads
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Check, Outside, Stuck
from gantt.state.column import Bools, Floats

LOG = logging.getLogger(__name__)
# Places in the code where a plug-in failed; so many are remembered, and the log has the
# traceback of each once.
_MOST_PLACES: Final = 100
_LONGEST_ERROR: Final = 500
LIMITS: Final = ("vcpu", "memory_mb", "disk_gb")
_ENABLED_BY: Final = {
    "filter": "enabled_filters of [filter_scheduler]",
    "weigher": "weight_classes of [filter_scheduler]",
    "driver": "driver of [scheduler]",
}
Kind = Literal["filter", "weigher", "driver"]
P = ParamSpec("P")
T = TypeVar("T")


class Blame:
    """Names what is asked, in every refusal. The log has the traceback of a failure
    once per place. ``passing``: what is no failure of its own."""

    def __init__(
        self,
        kind: Kind,
        name: str,
        asked: object,
        passing: tuple[type[Exception], ...] = (Invalid, PluginFailed),
    ) -> None:
        where = f"{type(asked).__module__}.{type(asked).__qualname__}"
        alias = "" if name == type(asked).__name__ else f"{name}, "
        self.label = f"The {kind} {alias}{where}"
        self._kind = kind
        self._passing = passing
        self._plugin = f"{kind} {name}"
        self._places: set[tuple[object, ...]] = set()

    def failed(self, text: str) -> PluginFailed:
        """The refusal: what it did, and what to do; both are for operators alone."""
        return PluginFailed(
            f"{self.label} {text}. Nothing was decided; repair it, or take it out of "
            f"{_ENABLED_BY[self._kind]}.",
            self._plugin,
        )

    def raised(self, where: str, error: BaseException) -> PluginFailed:
        """The refusal for an exception of its own."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = (type(error), last.filename, last.lineno)
        if place not in self._places and len(self._places) < _MOST_PLACES:
            self._places.add(place)
            LOG.error("%s failed%s", self.label, where, exc_info=error)
        return self.failed(f"failed{where}: {words(error)}")

    def call(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """What it answers. Raises PluginFailed, and what is the request's fault."""
        try:
            return function(*given, **named)
        except self._passing:
            raise
        except KeyboardInterrupt:  # of the person at the terminal, in the main thread
            raise
        except BaseException as error:
            name = getattr(function, "__name__", "a call")
            raise self.raised(f" in {name}", error) from error


def words(error: BaseException) -> str:
    """An exception in a short line, also of one that fails at that."""
    name = type(error).__name__
    try:
        return shortened(" ".join(f"{name}: {error}".split()), _LONGEST_ERROR)
    except BaseException:
        return name


def call_outside(outside: Outside, blame: Blame, ask: Callable[[Check], T]) -> T:
    """What ``ask`` answers, which calls the plug-in that ``blame`` names. Raises
    PluginFailed, Moved, and what ``ask`` raises."""
    try:
        return outside.call(blame, ask)
    except Stuck as stuck:
        raise blame.failed(str(stuck)) from None


class _Guard:
    """What guards of filters and weighers have in common."""

    def __init__(
        self, kind: Kind, name: str, wrapped: Filter | Weigher, outside: Outside
    ) -> None:
        """Raises Refused where its declaration cannot hold."""
        self.blame = Blame(kind, name, wrapped)
        self._outside = outside
        self._name = name
        self._asked = wrapped
        self._declared = _declaration(wrapped, self.blame)
        self._is_timed = isinstance(wrapped, Filter) and (
            type(wrapped).lasts is not Filter.lasts
        )
        kinds = (Filter.is_neutral, Weigher.is_neutral)
        self._is_never_neutral = type(wrapped).is_neutral in kinds
        self._sees_members = self._declared is None or not self._declared.elementwise

    def whole(self, hosts: Hosts, request: Request) -> Request:
        """``request`` with the members of its group that are known; not where what is
        said is kept, for they come and go."""
        if request.spec.instance_group is None or not self._sees_members:
            return request
        spec = server_groups.completed(hosts, request.spec)
        return replace(request, spec=spec, known={})

    def ask(self, judge: Callable[[Hosts], T], hosts: Hosts) -> T:
        """What ``judge`` says of a copy of ``hosts``, outside."""
        seen = hosts.on(self._outside.frozen(hosts.fleet))
        return call_outside(self._outside, self.blame, lambda _: judge(seen))

    def told(
        self,
        method: Callable[Concatenate[Hosts, Request, P], T],
        hosts: Hosts,
        request: Request,
        *more: P.args,
        **named: P.kwargs,
    ) -> T:
        """What ``method`` says, of what it declared alone."""
        if self._declared is None:
            # Its own object: were it to assign to an attribute (``rows``), its answer
            # would be judged by that.
            return self.blame.call(method, copy(hosts), request, *more, **named)
        mistakes = UndeclaredReads()
        seen = declared_reads.hosts_of(hosts, self._declared, mistakes)
        asked = self._request(request, mistakes)
        try:
            found = self.blame.call(method, seen, asked, *more, **named)
        finally:
            self._check(mistakes)
        return found

    def is_neutral_for(self, request: Request) -> bool:
        if self._is_never_neutral or self._is_asked_late(request):
            return False
        return call_outside(
            self._outside, self.blame, lambda _: self._says_neutral(request)
        )

    def is_neutral_late(self, request: Request) -> bool:
        """For a request from ``whole``, outside; False: the caller has asked before."""
        return self._is_asked_late(request) and self._says_neutral(request)

    def _is_asked_late(self, request: Request) -> bool:
        """Whether only hosts tell all that ``is_neutral`` may read: members."""
        return (
            self._sees_members
            and not self._is_never_neutral
            and request.spec.instance_group is not None
        )

    def _says_neutral(self, request: Request) -> bool:
        mistakes = UndeclaredReads()
        seen = request if self._declared is None else self._request(request, mistakes)
        method = self._asked.is_neutral
        try:
            return bool(self.blame.call(method, seen))
        finally:
            self._check(mistakes)

    def _request(self, request: Request, mistakes: UndeclaredReads) -> Request:
        assert self._declared is not None, "else it reads what it wants"
        return declared_reads.request_of(
            request, self._declared, mistakes, is_timed=self._is_timed
        )

    def _check(self, mistakes: UndeclaredReads) -> None:
        if mistakes.text:
            raise self.blame.failed(f"declares what it reads, but {mistakes.text}")

    def check_alone(
        self, found: Any, hosts: Hosts, ask: Callable[[Hosts], Any]
    ) -> None:
        """What it says of each half of the hosts is that half of what it says of all.
        Raises PluginFailed."""
        if self._declared is None or not self._declared.elementwise or len(hosts) < 2:
            return
        places = np.arange(len(hosts))
        for half in (places[::2], places[1::2]):
            if not np.array_equal(ask(hosts.at(half)), found[half]):
                raise self.blame.failed(
                    "declares elementwise=True, but what it says of some hosts hangs "
                    "on others: take elementwise=True out of its Cacheable"
                )


class GuardedFilter(_Guard, Filter):
    def __init__(self, name: str, wrapped: Filter, outside: Outside = IN_PLACE) -> None:
        super().__init__("filter", name, wrapped, outside)
        self.wrapped = wrapped
        if type(wrapped).mask is Filter.mask:
            raise Refused(f"{self.blame.label} has no method mask: give it one.")
        self.cacheable = self._declared
        self.once = bool(wrapped.once)
        self.on_rebuild = bool(wrapped.on_rebuild)
        self.is_costly = bool(wrapped.is_costly)
        self.advice = wrapped.advice
        self._has_limits = bool(wrapped.has_limits)

    @property
    def name(self) -> str:
        return self._name

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        request = self.whole(hosts, request)

        def judge(some: Hosts) -> Bools:
            return self._as_mask(self.told(self.wrapped.mask, some, request), some)

        def judge_all(all_of_them: Hosts) -> Bools:
            if self.is_neutral_late(request):
                return np.ones(len(all_of_them), np.bool_)
            found = judge(all_of_them)
            self.check_alone(found, all_of_them, judge)
            return found

        return self.ask(judge_all, hosts)

    def _as_mask(self, found: Any, hosts: Hosts) -> Bools:
        size = len(hosts)
        if (
            not isinstance(found, np.ndarray)
            or found.dtype != np.bool_
            or found.shape != (size,)
        ):
            raise self.blame.failed(
                f"gave {described(found)} as its mask: bool[{size}] was asked for, a "
                "value per host"
            )
        # What it keeps for itself is not ours to change.
        return found.copy()

    def is_neutral(self, request: Request) -> bool:
        return self.is_neutral_for(request)

    def lasts(self, hosts: Hosts, request: Request) -> tuple[int, int]:
        if not self._is_timed:
            return ALWAYS
        lasts = self.wrapped.lasts
        request = self.whole(hosts, request)
        found: Any = self.ask(lambda some: self.told(lasts, some, request), hosts)
        try:
            first, last = map(int, found)
        except (TypeError, ValueError):
            first, last = 1, 0
        if not first <= request.now <= last:
            raise self.blame.failed(
                f"says that its mask lasts {found!r}: (first, last) time around now "
                f"({request.now}) was asked for"
            )
        return first, last

    @property
    def has_limits(self) -> bool:
        return self._has_limits

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, object]:
        limits = self.wrapped.limits
        request = self.whole(hosts, request)
        found: Any = self.ask(
            lambda some: self.told(limits, some, request, place), hosts
        )
        if not isinstance(found, dict) or not all(
            isinstance(value, int) if name in LIMITS else _is_object(name, value)
            for name, value in found.items()
        ):
            raise self.blame.failed(
                f"gave {found!r} as limits: whole numbers of {', '.join(LIMITS)} were "
                "asked for, or an object as numa_topology"
            )
        return found


def _is_object(name: str, value: object) -> bool:
    """Whether it is a limit that is an object."""
    return name == "numa_topology" and isinstance(value, dict)


class GuardedWeigher(_Guard, Weigher):
    def __init__(
        self, name: str, wrapped: Weigher, outside: Outside = IN_PLACE
    ) -> None:
        super().__init__("weigher", name, wrapped, outside)
        self.wrapped = wrapped
        if type(wrapped).score is Weigher.score:
            raise Refused(f"{self.blame.label} has no method score: give it one.")
        self._has_multiplier = type(wrapped).multiplier is not Weigher.multiplier
        if self._has_multiplier and self._declared and self._declared.elementwise:
            raise Refused(
                f"{self.blame.label} declares elementwise=True and has a multiplier of "
                "its own, which is not kept: take elementwise=True out of its "
                "Cacheable, or name an option instead."
            )
        self.cacheable = self._declared
        self.option = wrapped.option
        self.minval, self.maxval = wrapped.minval, wrapped.maxval
        self.sign = wrapped.sign

    @property
    def name(self) -> str:
        return self._name

    def is_neutral(self, request: Request) -> bool:
        return self.is_neutral_for(request)

    def multiplier(
        self, hosts: Hosts, options: SchedulerOptions
    ) -> float | Floats | None:
        if not self._has_multiplier:
            return None
        method = self.wrapped.multiplier
        found: Any = self.ask(
            lambda some: self.blame.call(method, some, options), hosts
        )
        if found is None:
            return None
        if isinstance(found, int | float):
            if math.isfinite(found):
                return float(found)
            raise self.blame.failed(f"gave {found} as its multiplier, no finite number")
        return self._as_floats(found, hosts, "its multiplier")

    def score(self, hosts: Hosts, request: Request) -> Floats:
        request = self.whole(hosts, request)

        def judge(some: Hosts) -> Floats:
            found = self.told(self.wrapped.score, some, request)
            return self._as_floats(found, some, "its scores")

        def judge_all(all_of_them: Hosts) -> Floats:
            if self.is_neutral_late(request):
                return np.zeros(len(all_of_them))
            found = judge(all_of_them)
            self.check_alone(found, all_of_them, judge)
            return found

        return self.ask(judge_all, hosts)

    def _as_floats(self, found: Any, hosts: Hosts, what: str) -> Floats:
        size = len(hosts)
        if (
            not isinstance(found, np.ndarray)
            or found.dtype.kind not in "fiu"
            or found.shape != (size,)
        ):
            raise self.blame.failed(
                f"gave {described(found)} as {what}: float64[{size}] was asked for, a "
                "number per host"
            )
        with np.errstate(over="ignore"):
            numbers = found.astype(np.float64)
        is_odd = ~np.isfinite(numbers)
        if is_odd.any():
            place = int(is_odd.argmax())
            raise self.blame.failed(
                f"gave {numbers[place]} in {what}, for host {hosts.names[place]} "
                f"({hosts.nodes[place]}): finite numbers were asked for"
            )
        with np.errstate(over="ignore"):
            is_too_wide = size > 0 and not np.isfinite(np.ptp(numbers))
        if is_too_wide:
            raise self.blame.failed(
                f"gave {numbers.min()} to {numbers.max()} as {what}: their difference "
                "must be a finite number too"
            )
        return numbers


def described(found: object) -> str:
    """What was answered, by type and shape: it may be long."""
    if isinstance(found, np.ndarray):
        sizes = ", ".join(map(str, found.shape))
        return f"{found.dtype}[{sizes}]"
    return "None" if found is None else f"a {type(found).__name__}"


def _declaration(wrapped: Filter | Weigher, blame: Blame) -> Cacheable | None:
    """Raises Refused where it names what there is not."""
    found: object = wrapped.cacheable
    if found is None:
        return None
    if not isinstance(found, Cacheable):
        raise Refused(
            f"{blame.label} has {found!r} as cacheable: it must be a gantt.scheduler."
            "contract.Cacheable, or left out."
        )
    trouble = declared_reads.unknown(found)
    if trouble is not None:
        raise Refused(f"{blame.label} declares that it {trouble}.")
    return found
