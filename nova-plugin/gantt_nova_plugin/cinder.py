"""Filter and weigher for Cinder's scheduler, which finds them by entry points."""

from __future__ import annotations

from cinder.scheduler import filters, weights

from gantt_nova_plugin import storage
from gantt_nova_plugin.stages import AdvisedFilter, AdvisedWeigher

STAGES = storage.stages(
    "cinder",
    (
        "volume_properties",
        "volume_type",
        "volume_id",
        "image_id",
        "snapshot_id",
        "source_volid",
        "group_id",
        "resource_backend",
        "availability_zones",
        "operation",
    ),
)


class GanttFilter(AdvisedFilter, filters.BaseBackendFilter):  # type: ignore[misc]
    """For `scheduler_default_filters`, after all others."""

    stages = STAGES


class GanttWeigher(AdvisedWeigher, weights.BaseHostWeigher):  # type: ignore[misc]
    """For `scheduler_default_weighers`, after all others."""

    stages = STAGES
