"""Filter and weigher for Manila's scheduler, which finds them by entry points."""

from __future__ import annotations

from manila.scheduler.filters import base_host as filters
from manila.scheduler.weighers import base_host as weighers

from gantt_nova_plugin import storage
from gantt_nova_plugin.stages import AdvisedFilter, AdvisedWeigher

STAGES = storage.stages(
    "manila",
    (
        "share_properties",
        "share_instance_properties",
        "share_type",
        "share_proto",
        "share_id",
        "snapshot_id",
        "availability_zone_id",
        "availability_zones",
    ),
)


class GanttFilter(AdvisedFilter, filters.BaseHostFilter):  # type: ignore[misc]
    """For `scheduler_default_filters`, after all others."""

    stages = STAGES


class GanttWeigher(AdvisedWeigher, weighers.BaseHostWeigher):  # type: ignore[misc]
    """For `scheduler_default_weighers`, after all others."""

    stages = STAGES
