"""Reserve certain hosts for certain images."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class IsolatedHostsFilter(Filter):
    """Images of ``isolated_images`` run on ``isolated_hosts`` only; with
    ``restrict_isolated_hosts_to_isolated_images``, nothing else runs there."""

    cacheable = Cacheable(needs=(), reads=("image.id",), elementwise=True)
    once = True
    on_rebuild = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        options, image = request.options, request.spec.image
        is_isolated = hosts.at_hosts(options.isolated_hosts)
        image_id = None if image is None else image.id
        if image_id is not None and image_id in options.isolated_images:
            return is_isolated
        if options.restrict_isolated_hosts_to_isolated_images:
            return ~is_isolated
        return np.ones(len(hosts), np.bool_)
