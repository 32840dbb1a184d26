"""Require support for the image's architecture, hypervisor and machine type."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility.image_triples import PROPERTIES, canonical, supports
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

_ASKED = frozenset((*PROPERTIES, "img_hv_requested_version", "hw_maxphysaddr_bits"))
Version: TypeAlias = tuple[int, ...]
Conditions: TypeAlias = tuple[tuple[Callable[[Version, Version], bool], Version], ...]
_COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_CONDITION = re.compile(r"\s*(<=|>=|<|>|!=|==)\s*(\d+(?:\.\d+)*)\s*", re.ASCII)
_MOST_TEXT = 255


class ImagePropertiesFilter(Filter):
    """One of the triples that the host supports has all of architecture, hypervisor
    type and vm mode that the image asks for; then the version of the hypervisor and
    the width of addresses, where they are known, must do as well.

    An image that asks for none of the three passes everywhere. Raises Invalid: a
    version or a width that cannot be read.
    """

    cacheable = Cacheable(
        needs=(
            "hypervisor_version",
            "factor:supported_instances",
            "factor:cpu_info.maxphysaddr.bits",
        ),
        reads=("image.properties",),
        elementwise=True,
    )
    once = True
    on_rebuild = True

    def is_neutral(self, request: Request) -> bool:
        image = request.spec.image
        if request.options.image_properties_default_architecture:
            return False
        return image is None or _ASKED.isdisjoint(image.properties)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        image = request.spec.image
        properties: dict[str, Any] = {} if image is None else image.properties
        conditions = _conditions(properties.get("img_hv_requested_version"))
        bits = _bits(properties.get("hw_maxphysaddr_bits"))
        default = request.options.image_properties_default_architecture
        asked = {**dict.fromkeys(PROPERTIES), "hw_architecture": default, **properties}
        wanted = {
            canonical(place, asked[name])
            for place, name in enumerate(PROPERTIES)
            if asked[name]
        }
        if not wanted:
            return np.ones(len(hosts), np.bool_)
        mask = hosts.judge(
            *hosts.reported("supported_instances"),
            lambda triples: supports(triples, wanted),
        )
        if conditions:
            mask &= _has_version(hosts, conditions)
        if bits:
            mask &= hosts.judge(
                *hosts.reported("cpu_info", "maxphysaddr", "bits"),
                lambda width: not isinstance(width, int) or bits <= width,
            )
        return mask


def _has_version(hosts: Hosts, conditions: Conditions) -> Bools:
    """Version 0 stands for "not known"."""
    numbers, codes = np.unique(hosts.hypervisor_version, return_inverse=True)
    verdicts = [
        number == 0 or satisfies(number, conditions) for number in numbers.tolist()
    ]
    found: Bools = np.array(verdicts, np.bool_)[codes]
    return found


def _conditions(text: Any) -> Conditions:
    found = () if text is None else read(str(text))
    if found is None:
        raise errors.Invalid(
            f"The image asks for img_hv_requested_version={text!r}, which cannot be "
            'read: give conditions such as ">=6.0, <7.0".'
        )
    return found


def _bits(value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        raise errors.Invalid(
            f"The image asks for hw_maxphysaddr_bits={value!r}: give a whole number."
        ) from None


def read(text: str) -> Conditions | None:
    """The conditions, all of which must hold; None: they are invalid."""
    if len(text) > _MOST_TEXT:
        return None
    found = []
    for one in text.split(","):
        match = _CONDITION.fullmatch(one)
        if match is None:
            return None
        parts = [int(part) for part in match[2].split(".")]
        found.append((_COMPARISONS[match[1]], _trimmed(parts)))
    return tuple(found)


def satisfies(number: int, conditions: Conditions) -> bool:
    """Whether the version that a host reports as ``number`` meets all conditions."""
    version = _parts(number)
    return all(compare(version, wanted) for compare, wanted in conditions)


def _parts(number: int) -> Version:
    """1002003 is 1.2.3."""
    parts: list[int] = []
    while number > 0:
        number, part = divmod(number, 1000)
        parts.insert(0, part)
    return _trimmed(parts)


def _trimmed(parts: list[int]) -> Version:
    """6.2.0 is 6.2."""
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
