"""The feed: learns the fleet from Nova's databases, which it only reads."""

from gantt.openstack.feed.feed import Feed

__all__ = ["Feed"]
