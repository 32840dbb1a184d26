"""``gantt watch``: a line per revision, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import gantt
from gantt.cli.main import gantt as program
from tests.cli.called import called


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    books = gantt.connect(url, create=True)
    host = books.create_provider("one")
    books.set_inventories(host.uuid, {"VCPU": gantt.Inventory(total=4)})
    books.close()
    return url


def run(url: str, *arguments: str) -> list[str]:
    options = ["watch", "--url", url, "--no-follow", *arguments]
    return called(program, options).output.splitlines()


def test_watch_prints_one_line_per_revision(url: str) -> None:
    lines = run(url, "--since", "0")
    assert [line.split("  ")[2] for line in lines[-2:]] == [
        "CreateProvider",
        "SetInventories",
    ]
    assert "inventories 1" in lines[-1]
    assert lines[-1].startswith(f"{len(lines)}-")


def test_watch_prints_json_and_csv(url: str) -> None:
    events = [json.loads(line) for line in run(url, "--since", "1", "-o", "json")]
    assert events[-1]["changes"][-1]["names"].get("resource_class", "VCPU") == "VCPU"
    rows = list(
        csv.DictReader(
            io.StringIO("\n".join(run(url, "--since", events[0]["id"], "-o", "csv")))
        )
    )
    assert [row["id"] for row in rows] == [event["id"] for event in events[1:]]


def test_watch_starts_at_the_end_by_default(url: str) -> None:
    assert run(url) == []


def test_compacted_revision_exits_with_1(url: str) -> None:
    answer = called(program, ["watch", "--url", url, "--since", "9999"], status=1)
    assert "has not reached revision 9999" in answer.output
    assert "without --since" in answer.output
