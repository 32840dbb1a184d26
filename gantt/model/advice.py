"""Advice: in which order a caller should try the hosts that it sent.

The caller (Nova's scheduler with a plug-in, or a fork with an external scheduler) has
filtered and weighed hosts itself, and it claims itself: advice changes nothing here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from gantt.model.bounds import Name, Text
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


class AdviceRequest(Struct, frozen=True):
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
    request_id: Text = ""


class AdvisedHost(Struct, frozen=True, gc=False):
    """``weight``: None where the host was not weighed. ``refused_by``: the first filter
    that refuses it, or "allocation candidates"; None: none is known to."""

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
