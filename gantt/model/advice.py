"""Advice: in which order a caller should try the hosts that it sent.

The caller (Nova's scheduler with a plug-in, or a fork with an external scheduler) has
filtered and weighed hosts itself, and it claims itself: advice changes nothing here.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from gantt.model.bounds import Name, RequestId
from gantt.model.spec import RequestSpec

Stage: TypeAlias = Literal["filter", "weigh"]
Mode: TypeAlias = Literal["observe", "advise", "decide"]
Operation: TypeAlias = Literal[
    "create", "resize", "rebuild", "live_migrate", "evacuate"
]


class AdviceHost(Struct, frozen=True, gc=False):
    """A host that the caller may use. ``node`` None: the only one of the host."""

    host: Name
    node: Name | None = None


class AdviceRequest(Struct, frozen=True, dict=True):
    """``hosts``: in the caller's order. ``weights``: the caller's, by host; a host
    without one counts as the lowest. ``stage`` "filter": whether hosts pass is asked,
    not their order. ``mode``: "observe" keeps the caller's order and holds no host;
    "advise" orders; with "decide" the caller drops hosts that are refused.
    ``operation`` None: the one that the hint ``_nova_check_type`` names, else
    "create". ``instance_uuid`` None: that of ``spec``."""

    spec: RequestSpec
    hosts: tuple[AdviceHost, ...]
    weights: dict[Name, float] = {}
    stage: Stage = "weigh"
    mode: Mode = "advise"
    operation: Operation | None = None
    instance_uuid: Name | None = None
    request_id: RequestId = ""

    @cached_property
    def names(self) -> list[str]:
        """Names of ``hosts``, not to be changed. Where ``weights`` has the same ones in
        the same order, as most callers send them, these are its keys, whose hashes are
        computed already."""
        names, keys = [one.host for one in self.hosts], list(self.weights)
        return keys if keys == names else names

    @cached_property
    def is_aligned(self) -> bool:
        """Whether ``weights`` has the hosts in their order, so each once."""
        return self.names == list(self.weights)


class AdvisedHost(Struct, frozen=True, gc=False):
    """``weight``: None where the host was not weighed. ``refused_by``: the first filter
    that refuses it, "driver …", or "free resources"; None: none is known to."""

    host: str
    node: str | None = None
    weight: float | None = None
    refused_by: str | None = None


class Advice(Struct, frozen=True):
    """``hosts``: exactly those that were sent, the best first; refused and unknown ones
    last, in the caller's order. ``decided`` False: the caller's order, and ``why``.
    ``decision``: the request id under which the decision was recorded."""

    hosts: tuple[AdvisedHost, ...]
    decided: bool
    why: str = ""
    decision: str = ""


class Order(Struct, frozen=True):
    """What was decided about ``request``, before it is written as its caller wants it:
    for ten thousand hosts that costs as much as the decision. ``positions``: in
    ``request.hosts``, the best first; the last ones, beyond ``weights``, are refused or
    unknown: ``refusals`` has one for each of them. ``why`` "": it was decided."""

    request: AdviceRequest
    positions: list[int]
    weights: list[float]
    refusals: list[str | None]
    why: str = ""

    def names(self) -> list[str]:
        """Names of hosts, the best first and each once, where its best node is; with
        the mode "decide" without refused ones."""
        request, positions = self.request, self.positions
        if request.mode == "decide":
            count = len(self.weights)
            last = zip(positions[count:], self.refusals, strict=True)
            positions = positions[:count] + [at for at, name in last if name is None]
        names = request.names
        found = [names[at] for at in positions]
        return found if request.is_aligned else list(dict.fromkeys(found))

    def advice(self) -> Advice:
        """All hosts, in the order that stage and mode of the request ask for."""
        request, count = self.request, len(self.weights)
        hosts = request.hosts
        first, weights = self.positions[:count], self.weights
        is_weighed = request.stage == "weigh"
        if not is_weighed:
            first = sorted(first)
        found = [
            AdvisedHost(hosts[at].host, hosts[at].node, weight if is_weighed else None)
            for at, weight in zip(first, weights, strict=True)
        ]
        last = self.positions[count:]
        found += [
            AdvisedHost(hosts[at].host, hosts[at].node, None, name)
            for at, name in zip(last, self.refusals, strict=True)
        ]
        if request.mode == "observe":
            placed = dict(zip(first + last, found, strict=True))
            found = [placed[at] for at in range(len(hosts))]
        return Advice(
            tuple(found),
            decided=not self.why,
            why=self.why,
            decision=request.request_id,
        )


def undecided(request: AdviceRequest, why: str) -> Order:
    """The caller's order."""
    count = len(request.hosts)
    return Order(request, list(range(count)), [], [None] * count, why)
