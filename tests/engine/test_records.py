"""The ring buffer of decisions is bounded, whatever they are for."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.engine.scheduling.records import Records
from gantt.model.selection import Asked, Decision, Selection


def _decision(name: str, instances: int, at: int = 0) -> Decision:
    uuids = tuple(f"{name}-{number}" for number in range(instances))
    return Decision(name, uuids, "p", 1, at, "filter", 1, (), ())


def _names(records: Records) -> list[str]:
    return [one.request_id for one in records.decisions()]


def test_the_latest_decisions_are_kept() -> None:
    records = Records(3)
    for number in range(5):
        records.add(_decision(f"d{number}", 1))
    assert _names(records) == ["d4", "d3", "d2"]
    assert records.counts()["decisions_limit"] == 3


def test_decisions_for_many_instances_count_as_several() -> None:
    records = Records(10)
    for number in range(5):
        records.add(_decision(f"d{number}", 70))
    assert _names(records) == ["d4", "d3"]
    for number in range(5, 20):
        records.add(_decision(f"d{number}", 1))
    assert len(records) == 10
    assert _names(records)[-1] == "d10"


def test_the_latest_decision_is_always_kept() -> None:
    records = Records(1)
    for name in ("a", "b"):
        records.add(_decision(name, 1000))
        assert _names(records) == [name]


def test_unnamed_instances_are_counted_by_their_hosts() -> None:
    records, host = Records(10), (Selection(None, "a", "a"),)
    for number in range(5):
        dry = replace(_decision(f"d{number}", 0), chosen=(host,) * 70, is_dry_run=True)
        records.add(dry)
    assert _names(records) == ["d4", "d3"]
    assert (records.decided, records.refused) == (0, 0)


def test_lookups_return_only_matching_decisions() -> None:
    records = Records(10)
    records.add(_decision("a", 2))
    for asked, is_meant in (
        (Asked("a"), True),
        (Asked("b"), False),
        (Asked(instance_uuid="a-1"), True),
        (Asked(instance_uuid="a-2"), False),
        (Asked(project_id="p"), True),
        (Asked(project_id="q"), False),
        (Asked("a", "a-0", "q"), False),
    ):
        assert bool(records.decision_page(asked).decisions) == is_meant, asked
