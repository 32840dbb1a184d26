"""The feed: learns the fleet from Nova's databases, which it only reads."""

from gantt.openstack.feed.cloud_feed import Feed
from gantt.openstack.feed.standby import Standby

__all__ = ["Feed", "Standby"]
