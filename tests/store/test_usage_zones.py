"""The usage history by zone, on every database."""

from __future__ import annotations

from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.interface import Store

ZONES = ("", "North", "north", "\U0001f525 Äste", "z" * 255)


def test_zones_stay_apart_and_go_with_their_period(store: Store) -> None:
    records = [
        UsageRecord(0, 300, name, 1, 8.0, 1.0, 1.5, 2.0, zone)
        for zone in ZONES
        for name in ("MEMORY_MB", "VCPU")
    ]
    with store.usage_rows() as rows:
        rows.replace(300, 0, records)
    for zone in ZONES:
        asked = HistoryQuery(300, until=300, zone=zone)
        mine = [one for one in records if one.zone == zone]
        assert store.usage_history(asked) == mine[::-1]
        of_class = HistoryQuery(300, 0, 300, "VCPU", 9, zone)
        assert store.usage_history(of_class) == mine[1:]
    every = store.usage_history(HistoryQuery(300, zone=None))
    assert {one.zone for one in every} == set(ZONES[1:])
    assert len(every) == 8
    with store.usage_rows() as rows:
        assert rows.drop(300, 0, 300) == 10
    assert store.usage_history(HistoryQuery(300, zone=None)) == []
