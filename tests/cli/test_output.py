"""Tables for people, JSON and CSV for programs; no colour in a pipe."""

from __future__ import annotations

import csv
import io
import json

import pytest

from gantt.cli.output import print_record, print_rows

COLUMNS = ("name", "amounts", "parent")
ROWS = [("höst", {"VCPU": 1, "DISK_GB": 2}, None), ("[bold]b", ["x", "y"], "p")]


def test_a_table_has_a_line_per_row_and_no_colour(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_rows("table", COLUMNS, ROWS)
    text = capsys.readouterr().out
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[0].split() == list(COLUMNS)
    assert lines[1].split() == ["höst", "VCPU=1", "DISK_GB=2", "-"]
    assert lines[2].split() == ["[bold]b", "x", "y", "p"]
    assert len(lines) == 3


def test_a_long_cell_stays_on_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_rows("table", ("long",), [("x" * 500,)])
    assert "x" * 500 in capsys.readouterr().out


def test_json_keeps_types(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("json", COLUMNS, ROWS)
    assert json.loads(capsys.readouterr().out) == [
        {"name": "höst", "amounts": {"VCPU": 1, "DISK_GB": 2}, "parent": None},
        {"name": "[bold]b", "amounts": ["x", "y"], "parent": "p"},
    ]


def test_csv_has_a_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("csv", COLUMNS, ROWS)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [
        list(COLUMNS),
        ["höst", "VCPU=1 DISK_GB=2", ""],
        ["[bold]b", "x y", "p"],
    ]


@pytest.mark.parametrize(
    ("output", "expected"),
    [("json", '{\n  "a": 1,\n  "b": null\n}\n'), ("csv", "a,b\n1,\n")],
)
def test_a_record(
    capsys: pytest.CaptureFixture[str], output: str, expected: str
) -> None:
    print_record(output, {"a": 1, "b": None})
    assert capsys.readouterr().out == expected


def test_a_record_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_record("table", {"a": 1, "b": None})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [["a", "1"], ["b", "-"]]
