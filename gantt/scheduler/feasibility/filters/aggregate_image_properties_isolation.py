"""Reserve aggregates for images with certain properties."""

from __future__ import annotations

from typing import Any

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class AggregateImagePropertiesIsolation(Filter):
    """Where aggregates of the host and the image both have a key, the image's value is
    one of those listed. With ``aggregate_image_properties_isolation_namespace`` only
    keys that start with it and the separator count. A property that is empty, zero or
    False counts as none."""

    cacheable = Cacheable(needs=(), reads=("image.properties",), elementwise=True)
    once = True
    on_rebuild = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        options, image = request.options, request.spec.image
        properties: dict[str, Any] = {} if image is None else image.properties
        namespace = options.aggregate_image_properties_isolation_namespace
        separator = options.aggregate_image_properties_isolation_separator
        prefix = namespace + separator if namespace else ""
        mask = np.ones(len(hosts), np.bool_)
        for key, value in properties.items():
            if value and key.startswith(prefix):
                wanted = str(value)
                mask &= ~aggregate_values.with_key(
                    hosts, key
                ) | aggregate_values.with_item(hosts, key, wanted.__eq__)
        return mask
