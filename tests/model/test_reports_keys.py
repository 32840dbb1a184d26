"""What reports are filed under."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model.hosts import HostStats
from gantt.model.reports import Report

REPORT = Report(
    host="a",
    node="a",
    incarnation="i",
    sequence=1,
    taken_at=1,
    full=True,
    fields=HostStats(vcpus=1),
)


def test_no_two_hosts_share_a_key() -> None:
    places = (
        ("a/b", "a/b"),
        ("a", "b"),
        ("a", "b/b"),
        ("a/b", "b"),
        ("a#heartbeat", "a#heartbeat"),
        ("a", "a"),
        ("a%2Fb", "a%2Fb"),
    )
    named = [replace(REPORT, host=host, node=node) for host, node in places]
    beats = [replace(one, fields=HostStats()) for one in named]
    keys = [one.key for one in (*named, *beats)]
    assert len(set(keys)) == len(keys)
    assert (keys[1], keys[5], beats[5].key) == ("a/b", "a", "a#heartbeat")
