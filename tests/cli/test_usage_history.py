"""``gantt usage history``, and below it the library, a service and its client."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gantt
from gantt.cli.main import gantt as program
from gantt.client.remote import RemoteGantt
from gantt.errors import Invalid
from gantt.model.usage_history import MICROS, UsageRecord
from gantt.store import open_store
from tests import inprocess
from tests.cli.conftest import Program

HOUR = 3_600 * MICROS


@pytest.fixture
def records() -> tuple[UsageRecord, ...]:
    """Of the last hours: older ones a service might drop meanwhile."""
    hour = time.time_ns() // 1000 // HOUR * HOUR - 3 * HOUR
    return (
        UsageRecord(hour, 3_600, "DISK_GB", 12, 100.0, 0.0, 0.0, 0.0),
        UsageRecord(hour, 3_600, "VCPU", 12, 16.0, 1.0, 3.3333333333333335, 8.0),
        UsageRecord(hour + HOUR, 3_600, "VCPU", 1, 0.0, 4.0, 4.0, 4.0),
    )


@pytest.fixture
def of_zones(records: tuple[UsageRecord, ...]) -> tuple[UsageRecord, ...]:
    hour = records[0].start
    return (
        UsageRecord(hour, 3_600, "VCPU", 12, 8.0, 1.0, 2.0, 3.0, "north"),
        UsageRecord(hour, 3_600, "VCPU", 12, 8.0, 0.0, 1.0, 2.0, "North"),
    )


@pytest.fixture
def url(
    tmp_path: Path,
    records: tuple[UsageRecord, ...],
    of_zones: tuple[UsageRecord, ...],
) -> str:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    gantt.connect(url, create=True).close()
    store = open_store(url)
    with store.usage_rows() as rows:
        for start in {record.start for record in records}:
            of_start = [one for one in (*records, *of_zones) if one.start == start]
            rows.replace(3_600, start, of_start)
    store.close()
    return url


@pytest.fixture(params=["in process", "over http"])
def cli(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Iterator[Program]:
    if request.param == "in process":
        yield Program(program, url)
        return
    with inprocess.service(tmp_path, url) as address:
        yield Program(program, address)


def test_usage_history_is_listed(
    cli: Program, records: tuple[UsageRecord, ...]
) -> None:
    told = cli.ask("usage", "history")
    assert [one["resource_class"] for one in told] == ["DISK_GB", "VCPU", "VCPU"]
    assert [one["percent"] for one in told] == [0, 20.8, None]
    assert (told[1]["used_avg"], told[1]["capacity"]) == (3.33, 16)
    since = told[2]["start"]
    assert since.endswith(":00:00+00:00")
    assert cli.ask("usage", "history", "--since", since) == told[2:]
    assert (
        cli.ask("usage", "history", "--until", since.removesuffix("+00:00"))
        == (told[:2])
    )
    assert cli.ask("usage", "history", "--resource-class", "VCPU") == told[1:]
    assert cli.ask("usage", "history", "--limit", "1") == told[2:]
    assert cli.ask("usage", "history", "--period", "day") == []
    table = cli.do("usage", "history").splitlines()
    assert "capacity" in table[0]
    rows = list(csv.reader(io.StringIO(cli.do("usage", "history", "-o", "csv"))))
    assert rows[2][1:] == ["VCPU", "16", "1", "3.33", "8", "20.8", "12"]
    (north,) = cli.ask("usage", "history", "--zone", "north")
    assert (north["capacity"], north["used_avg"], north["percent"]) == (8, 2, 25)
    assert cli.ask("usage", "history", "--zone", "nowhere") == []
    wrong = cli.fail("usage", "history", "--since", "yesterday", status=2)
    assert "write 2026-11-01" in wrong
    assert "use A-Z" in cli.fail("usage", "history", "--resource-class", "v cpu")


def test_client_reads_the_usage_history(
    url: str,
    tmp_path: Path,
    records: tuple[UsageRecord, ...],
    of_zones: tuple[UsageRecord, ...],
) -> None:
    with inprocess.service(tmp_path, url) as address:
        books = RemoteGantt(address)
        assert books.usage_history() == books.usage_history(zone="") == records
        assert books.usage_history("VCPU", zone="North") == of_zones[1:]
        assert books.usage_history("DISK_GB", zone="north") == ()
        assert books.usage_history("VCPU", until=records[2].start) == records[1:2]
        for wrong in ({"period": "week"}, {"limit": 0}, {"since": -1}):
            with pytest.raises(Invalid, match=next(iter(wrong))):
                books.usage_history(**wrong)
        books.close()
