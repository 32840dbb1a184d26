"""Tables for people, JSON and CSV for programs; no colour in a pipe."""

from __future__ import annotations

import cProfile
import csv
import io
import json
import sys

import pytest

from gantt.cli.output import plain, print_record, print_rows, say
from gantt.model.selection import Near

COLUMNS = ("name", "amounts", "parent")
HOSTILE = "a\x1b[31mb\x00c\nd\re\x9bf\u202eg\x7f[bold]h"
SHOWN = r"a\x1b[31mb\x00c\nd\re\x9bf\u202eg\x7f[bold]h"
ROWS = [("höst", {"VCPU": 1, "DISK_GB": 2}, None), ("[bold]b", ["x", "y"], "p")]


def test_table_has_one_line_per_row_and_no_colour(
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


def test_long_cells_do_not_wrap(
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
def test_record_in_each_format(
    capsys: pytest.CaptureFixture[str], output: str, expected: str
) -> None:
    print_record(output, {"a": 1, "b": None})
    assert capsys.readouterr().out == expected


def test_record_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_record("table", {"a": 1, "b": None})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [["a", "1"], ["b", "-"]]


def test_table_escapes_unprintable_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_rows("table", ("name", HOSTILE), [(HOSTILE, [HOSTILE])])
    print_record("table", {HOSTILE: {HOSTILE: HOSTILE}})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", SHOWN]
    assert lines[1].split() == [SHOWN, SHOWN]
    assert lines[3].split() == [SHOWN, f"{SHOWN}={SHOWN}"]
    assert len(lines) == 4


def test_json_escapes_unprintable_characters_exactly(
    capsys: pytest.CaptureFixture[str],
) -> None:
    far = "\U000e0041 höst"  # beyond the first plane, and what may stay as it is
    print_rows("json", ("name",), [(HOSTILE + far,)])
    text = capsys.readouterr().out
    assert json.loads(text) == [{"name": HOSTILE + far}]
    assert all(line.isprintable() for line in text.splitlines())
    assert "höst" in text


def test_csv_is_escaped_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_rows("csv", ("name",), [(HOSTILE,)])
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert rows == [["name"], [HOSTILE]]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_rows("csv", ("name",), [(HOSTILE,)])
    assert capsys.readouterr().out == f"name\n{SHOWN}\n"


def test_plain_values_do_not_break_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = plain(Near(HOSTILE, "node", (HOSTILE,)))
    say(f"Nearest:\n{value.host} {value.removed_by[0]}")
    say(HOSTILE.replace("\n", ""), err=True)
    told = capsys.readouterr()
    assert told.out == f"Nearest:\n{SHOWN} {SHOWN}\n"
    assert told.err == SHOWN.replace(r"\n", "") + "\n"


def test_columns_are_aligned_by_display_width(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Two columns of the screen each, one, and none.
    rows = [("名前", 7, "a"), ("e\u0301", 1234, None), ("longer", None, "b")]
    print_rows("table", ("name", "count", "last"), [*rows[:2], ("longer", 5, "b")])
    print_rows("table", ("name", "count"), [row[:2] for row in rows])
    assert capsys.readouterr().out == (
        "name     count   last\n"
        "名前         7   a\n"
        "e\u0301         1234   -\n"
        "longer       5   b\n"
        "name     count\n"
        "名前     7\n"
        "e\u0301        1234\n"
        "longer   -\n"
    )


def test_table_cost_is_linear_in_cells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def steps(count: int) -> int:
        rows = [(f"host{number}", number, None) for number in range(count)]
        profile = cProfile.Profile()
        profile.runcall(print_rows, "table", COLUMNS, rows)
        return sum(one.callcount for one in profile.getstats())

    print_rows("table", COLUMNS, [])  # imports are not counted
    assert (steps(600) - steps(300)) / (300 * len(COLUMNS)) < 40
    capsys.readouterr()
