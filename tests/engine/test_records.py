"""What is remembered of decisions is bounded, whatever they are for."""

from __future__ import annotations

from gantt.engine.records import Records
from gantt.model.selection import Decision


def _decision(name: str, instances: int) -> Decision:
    uuids = tuple(f"{name}-{number}" for number in range(instances))
    return Decision(name, uuids, "p", 1, 0, "filter", 1, (), ())


def _names(records: Records) -> list[str]:
    return [one.request_id for one in records.find(None, None, 100)]


def test_the_last_decisions_are_kept() -> None:
    records = Records(3)
    for number in range(5):
        records.add(_decision(f"d{number}", 1))
    assert _names(records) == ["d4", "d3", "d2"]
    assert records.counts()["decisions_limit"] == 3


def test_fewer_are_kept_of_those_for_very_many_instances() -> None:
    records = Records(10)
    for number in range(5):
        records.add(_decision(f"d{number}", 70))
    assert _names(records) == ["d4", "d3"]
    for number in range(5, 20):
        records.add(_decision(f"d{number}", 1))
    assert len(records) == 10
    assert _names(records)[-1] == "d10"


def test_the_last_one_is_kept_however_large() -> None:
    records = Records(1)
    for name in ("a", "b"):
        records.add(_decision(name, 1000))
        assert _names(records) == [name]
