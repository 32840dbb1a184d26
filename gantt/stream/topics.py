"""The topics, each with the settings without which Gantt would lose something.

Separate from the connection so that agents and schedulers need not know each other.
"""

from __future__ import annotations

from gantt.stream.broker_connection import Topic
from gantt.stream.options import StreamOptions


def reports_topic(options: StreamOptions) -> Topic:
    """The newest report of each host, at the time at which the broker had it: agents'
    clocks are judged by that."""
    settings = {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
    }
    return Topic(options.reports_topic, options.partitions, settings)


def dead_letters_topic(options: StreamOptions) -> Topic:
    """What could not be applied, kept as long as the broker's default says."""
    return Topic(options.dead_letters_topic, 1, {"cleanup.policy": "delete"})


def changes_topic(options: StreamOptions) -> Topic:
    """Changes in the order of their revisions, so it has one partition; readers need
    them from the last snapshot on, and the broker's default says for how long they are
    kept."""
    return Topic(options.changes_topic, 1, {"cleanup.policy": "delete"})
