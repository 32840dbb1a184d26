"""What a filter, a weigher and a chooser are, the request that they read, and
``Cacheable``.

Ours, those of plug-ins and Nova-style classes behind the adapter all look like this to
the cycle. They are pure: hosts and request in, arrays out; no I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import msgspec

from gantt.model.spec import RequestSpec
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools, Floats, Int64s

ALWAYS: Final = (-(2**63), 2**63 - 1)

Argument = TypeVar("Argument", bound=Hashable)
Answer = TypeVar("Answer")


class Request(msgspec.Struct, frozen=True):
    """What filters and weighers read of a request: the spec after the pre-filters,
    the options, and the time (microseconds, UTC) that the engine handed in. ``known``:
    what ``derived`` found of this request, or of others of its shape."""

    spec: RequestSpec
    options: SchedulerOptions
    now: int = 0
    known: dict[Hashable, Any] = msgspec.field(default_factory=dict)

    def derived(
        self,
        rule: Callable[[RequestSpec, SchedulerOptions, Argument], Answer],
        argument: Argument,
    ) -> Answer:
        """``rule(spec, options, argument)``, worked out once and kept with the shape:
        of the spec it may read what a ``Cacheable`` of its caller declares. What it
        raises is not kept."""
        key = rule, argument
        if key not in self.known:
            self.known[key] = rule(self.spec, self.options, argument)
        answer: Answer = self.known[key]
        return answer


class Cacheable(msgspec.Struct, frozen=True, kw_only=True):
    """What a filter or weigher declares so that drivers may keep what it said.

    ``needs``: columns of ``Hosts`` that it reads, ``factor:…`` for a path of
    ``Hosts.reported``, ``instances`` and ``claims`` for those of each host,
    ``topology`` for what is left of its cells and devices, ``rooms`` for what is left
    in the tree of its provider, ``domains`` for where it is by topology keys: what it
    says of a host changes only where one of these does;
    ``reads``: fields of RequestSpec, as dotted paths: it says the same to two requests
    that agree on them;
    ``elementwise``: what it says of any subset of hosts is that subset of what it says
    of all, and depends on ``needs`` of those hosts, ``reads``, options, metadata of
    aggregates and, as ``lasts`` tells, time alone. Nothing is kept of one that hangs on
    groups or other hosts too (False).

    It holds for the class that declares it: a subclass declares anew, or is asked
    afresh.
    """

    needs: tuple[str, ...]
    reads: tuple[str, ...]
    elementwise: bool = False


class _Declaring:
    """What filters and weighers have in common. Without ``cacheable`` nothing that one
    says is kept: it is asked afresh for each request."""

    cacheable: Cacheable | None = None
    # Of ``factor:metrics`` it reads those that ``metrics_weight_setting`` names.
    reads_metrics_of_options: bool = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        # A subclass may read what its parent did not declare.
        cls.cacheable = cls.__dict__.get("cacheable")

    @property
    def name(self) -> str:
        """The name that options and records of decisions have for it."""
        return type(self).__name__

    @property
    def is_elementwise(self) -> bool:
        """Whether what it says of a host may be kept, and asked of that host alone."""
        return self.cacheable is not None and self.cacheable.elementwise


class Filter(_Declaring):
    """Which hosts may take an instance: ``mask`` alone is a whole filter.

    ``once``: only for the first instance of a request;
    ``on_rebuild``: asked also whether an instance may stay where it is;
    ``is_costly``: looks at hosts one by one, so it is asked last and only about those
    that are left.
    """

    # Not of the class alone: an adapter finds out what it wraps.
    once: bool = False
    on_rebuild: bool = False
    is_costly: bool = False
    advice: str = ""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        """bool[rows]: which pass. Raises errors.Invalid when the request itself cannot
        be understood, with the key that is wrong."""
        raise NotImplementedError

    def is_neutral(self, request: Request) -> bool:  # noqa: ARG002
        """Whether all hosts pass ``request``, judged without hosts or the time."""
        return False

    def lasts(self, hosts: Hosts, request: Request) -> tuple[int, int]:  # noqa: ARG002
        """(first, last) time, as ``request.now``, at which the mask of these hosts is
        what it is now, as long as they report nothing new."""
        return ALWAYS

    def limits(
        self,
        hosts: Hosts,  # noqa: ARG002
        request: Request,  # noqa: ARG002
        place: int,  # noqa: ARG002
    ) -> Mapping[str, object]:
        """What the caller's own claim on the host at ``place``, which passed, must keep
        to: ``memory_mb``, ``vcpu``, ``disk_gb`` (numbers), ``numa_topology`` (a JSON
        object)."""
        return {}

    @property
    def has_limits(self) -> bool:
        """Whether ``limits`` may say anything."""
        return type(self).limits is not Filter.limits


class Weigher(_Declaring):
    """How good a host is: ``score`` alone is a whole weigher. The cycle normalises
    and multiplies.

    ``option``: the multiplier's name in the options and in metadata of aggregates;
    ``minval``, ``maxval``: the ends of the scale where they are fixed (None: the
    lowest and the highest score);
    ``sign`` -1: the multiplier counts negated; ``is_neutral`` tells without looking at
    hosts that all scores are equal. One that is kept does not hang on time, and has no
    ``multiplier`` of its own.
    """

    option: str = ""
    minval: float | None = None
    maxval: float | None = None
    sign: Literal[-1, 1] = 1

    def is_neutral(self, request: Request) -> bool:  # noqa: ARG002
        """Whether this cannot tell hosts apart for ``request``."""
        return False

    def multiplier(
        self,
        hosts: Hosts,  # noqa: ARG002
        options: SchedulerOptions,  # noqa: ARG002
    ) -> float | Floats | None:
        """A multiplier of its own, per host or for all; None: ``option`` decides."""
        return None

    def score(self, hosts: Hosts, request: Request) -> Floats:
        """float64[rows]: raw scores. Raises errors.Invalid."""
        raise NotImplementedError


class Chooser:
    """A driver of another package: which hosts each instance of a request tries.
    ``choose`` alone is a whole driver. Masks and weights are Gantt's, and so is all
    that follows: candidates, server groups, alternates, the claim."""

    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> Sequence[Int64s]:
        """For each of ``count`` instances int64[<= len(hosts)]: places in ``hosts``,
        the best first, each at most once. A host that is left out is not tried.

        ``hosts``: those that pass all filters, at least one; ``weights``:
        float64[len(hosts)], the greatest is the best; -inf: held for another request.
        ``seed``: for random numbers, 0 in trials. Raises errors.Invalid."""
        raise NotImplementedError
