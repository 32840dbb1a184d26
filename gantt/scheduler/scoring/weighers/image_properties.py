"""Prefer hosts whose instances were made from similar images.

Off unless its multiplier is configured, because it reads every instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class _Facts(msgspec.Struct):
    """What of an instance's facts counts here, as text."""

    image_properties: msgspec.Raw = msgspec.Raw(b"null")


_FACTS: Final = msgspec.json.Decoder(_Facts)


class ImagePropertiesWeigher(Weigher):
    """The score counts, over the host's instances, the properties of their images that
    have the requested value, each times its factor in ``image_props_weight_setting`` (1
    for every property while that is empty)."""

    cacheable = Cacheable(
        needs=("instances",), reads=("image.properties",), elementwise=True
    )
    option = "image_props_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        # The configured number alone, as in Nova: metadata of aggregates cannot switch
        # this on.
        return (
            request.options.multiplier(self.option) == 0.0
            or request.spec.image is None
            or not request.spec.image.properties
        )

    def score(self, hosts: Hosts, request: Request) -> Floats:
        scores = np.zeros(len(hosts))
        image = request.spec.image
        if image is None or self.is_neutral(request):
            return scores
        factors = request.options.image_props_weight_setting
        worth = {
            (name, str(value)): factors.get(name, 0.0) if factors else 1.0
            for name, value in image.properties.items()
        }
        # Many instances have the same properties: each text is read once.
        worth_of: dict[bytes, float] = {}
        for place in range(len(hosts)):
            total = 0.0
            for row in hosts.known_instances(place).values():
                text = bytes(_FACTS.decode(row.facts).image_properties)
                if text not in worth_of:
                    worth_of[text] = sum(
                        worth.get(pair, 0.0) for pair in _properties(text)
                    )
                total += worth_of[text]
            scores[place] = total
        return scores


def _properties(text: bytes) -> Iterator[tuple[str, str]]:
    properties: Any = msgspec.json.decode(text)
    if isinstance(properties, dict):
        for name, value in properties.items():
            yield name, str(value)
