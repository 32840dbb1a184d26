"""The feed: learns the fleet from Nova's databases, which it only reads."""

from gantt.openstack.feed.cloud_feed import Feed

__all__ = ["Feed"]
