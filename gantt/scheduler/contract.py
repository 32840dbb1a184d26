"""What a filter, a weigher, a pre-filter and a driver are.

Ours, those of plugins and Nova-style classes behind the adapter all look like this to
the pipeline. They are pure: hosts and request in, an array out; no I/O, no clock.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from gantt.model.spec import RequestSpec
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools, Floats

ALWAYS: Final = (-(2**63), 2**63 - 1)


class Request(msgspec.Struct, frozen=True):
    """What filters and weighers read of a request: the spec after the pre-filters,
    the options, and the time (microseconds, UTC) that the engine handed in."""

    spec: RequestSpec
    options: SchedulerOptions
    now: int = 0


class Filter:
    """Which hosts may take an instance.

    ``needs``: columns of ``state.hosts.Hosts`` (or ``factor:…`` paths) that it reads:
    an elementwise mask changes only where one of them does;
    ``reads``: fields of RequestSpec that it reads, as dotted paths: two requests that
    agree on them get the same mask; ``once``: only for the first instance of a request;
    ``on_rebuild``: asked also whether an instance may stay where it is;
    ``elementwise``: the mask on any subset of rows is the subset of the mask, and
    depends on those rows, ``reads``, options, aggregates and, as ``lasts`` tells, time
    alone (not on groups or other hosts): then the caching driver keeps it;
    ``is_costly``: looks at hosts one by one, so it is asked last and only about who is
    left.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    # Not of the class alone: an adapter finds out what it wraps.
    once: bool = False
    on_rebuild: bool = False
    is_costly: ClassVar[bool] = False
    elementwise: ClassVar[bool] = True
    advice: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """As ``enabled_filters`` names it."""
        return type(self).__name__

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        """bool[rows]: who passes. Raises errors.Invalid when the request itself cannot
        be understood, with the key that is wrong."""
        raise NotImplementedError

    def is_neutral(self, request: Request) -> bool:  # noqa: ARG002
        """Whether everybody passes ``request``, without a look at hosts or the time.
        An elementwise filter tells from ``reads`` and options alone."""
        return False

    def lasts(self, hosts: Hosts, request: Request) -> tuple[int, int]:  # noqa: ARG002
        """(first, last) time, as ``request.now``, at which the mask of these hosts is
        what it is now, as long as they report nothing new."""
        return ALWAYS

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:  # noqa: ARG002
        """What the caller's own claim on the host at ``place``, which passed, must keep
        to: ``memory_mb``, ``vcpu``, ``disk_gb``."""
        return {}


class Weigher:
    """How good a host is. The pipeline normalises and multiplies.

    ``needs``, ``reads``, ``elementwise``: as those of a filter, and without time.
    ``option``: the multiplier's name in the options and in metadata of aggregates;
    ``minval``, ``maxval``: the ends of the scale where they are fixed (None: the
    lowest and the highest score);
    ``sign`` -1: the multiplier counts negated; ``is_neutral`` tells without looking at
    hosts that all scores are equal.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    elementwise: ClassVar[bool] = True
    option: ClassVar[str] = ""
    minval: float | None = None
    maxval: float | None = None
    sign: ClassVar[Literal[-1, 1]] = 1

    @property
    def name(self) -> str:
        """As records of decisions name it."""
        return type(self).__name__

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
