"""``-o`` and ``-c``: formats for programs, and the columns or fields that they get."""

from __future__ import annotations

import csv
import io
import json
from uuid import uuid4

import click
import pytest
import yaml

from gantt.cli.output import print_document, print_line, print_record, print_rows
from tests.cli.conftest import Program

COLUMNS = ("name", "amounts", "parent")
HOSTILE = "a\x1b[31mb\x00c\nd\x9bf\u202eg\U000e0041 höst"
ROWS = [("höst", {"VCPU": 1}, None), ("b", ["x", "y"], "p")]
CHOSEN = ("parent", "name")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("table", "parent   name\n-        höst\np        b\n"),
        ("csv", "parent,name\n,höst\np,b\n"),
        ("value", "None höst\np b\n"),
        ("yaml", "- parent: null\n  name: höst\n- parent: p\n  name: b\n"),
    ],
)
def test_chosen_columns_of_rows_in_their_order(
    capsys: pytest.CaptureFixture[str], output: str, expected: str
) -> None:
    print_rows(output, COLUMNS, ROWS, CHOSEN)
    assert capsys.readouterr().out == expected


def test_chosen_columns_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("json", COLUMNS, ROWS, CHOSEN)
    found = json.loads(capsys.readouterr().out)
    assert found == [{"parent": None, "name": "höst"}, {"parent": "p", "name": "b"}]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("table", "field   value\nb           2\n"),
        ("json", '{\n  "b": 2\n}\n'),
        ("csv", "b\n2\n"),
        ("yaml", "b: 2\n"),
        ("value", "2\n"),
    ],
)
def test_chosen_fields_of_a_record(
    capsys: pytest.CaptureFixture[str], output: str, expected: str
) -> None:
    print_record(output, {"a": 1, "b": 2}, ("b",))
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("table", "-  höst\n"),
        ("json", '{"parent":null,"name":"höst"}\n'),
        ("csv", ",höst\n"),
        ("yaml", "- parent: null\n  name: höst\n"),
        ("value", "None höst\n"),
    ],
)
def test_a_line_of_what_goes_on(
    capsys: pytest.CaptureFixture[str], output: str, expected: str
) -> None:
    print_line(output, COLUMNS, ROWS[0], CHOSEN)
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("output", ["table", "json", "csv", "yaml", "value"])
def test_an_unknown_column_names_those_there_are(
    capsys: pytest.CaptureFixture[str], output: str
) -> None:
    said = "There is no column 'Nam'; columns: name, amounts, parent."
    with pytest.raises(click.UsageError) as refused:
        print_rows(output, COLUMNS, ROWS, ("name", "Nam"))
    assert refused.value.message == said
    with pytest.raises(click.UsageError) as refused:
        print_record(output, dict.fromkeys(COLUMNS), ("name", "Nam"))
    assert refused.value.message == said
    assert capsys.readouterr().out == ""


def test_yaml_is_exact_printable_and_without_aliases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = ["yes", "1", "x" * 500, HOSTILE]
    document = {"one": shared, "two": shared, HOSTILE: None}
    print_document(document, "yaml")
    text = capsys.readouterr().out
    assert yaml.safe_load(text) == document
    assert all(line.isprintable() for line in text.splitlines())
    assert "&" not in text


def test_values_stay_on_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("value", ("name",), [(HOSTILE,), ("b",)])
    lines = capsys.readouterr().out.split("\n")
    assert lines[1:] == ["b", ""]
    assert lines[0].isprintable()


# -- commands --------------------------------------------------------------------------


@pytest.fixture
def host(cli: Program) -> str:
    name = f"host-{uuid4()}"
    cli.do("host", "update", name, "vcpus=8", "memory_mb=4096", "local_gb=50")
    return name


def test_every_shape_of_answer_has_the_formats(cli: Program, host: str) -> None:
    listed = cli.do("host", "list", "-o", "value", "-c", "host").split()
    assert host in listed
    shown = ("host", "show", host, "-c", "stats.vcpus", "-c", "host", "-o")
    assert cli.do(*shown, "value") == f"8\n{host}\n"
    assert yaml.safe_load(cli.do(*shown, "yaml")) == {"stats.vcpus": 8, "host": host}
    whole = ("host", "show", host, "-o")
    assert yaml.safe_load(cli.do(*whole, "yaml")) == json.loads(
        cli.do(*whole, "json"), parse_float=float
    )
    flavor = "vcpus=1,memory_mb=16,disk_gb=1"
    more = cli.do("capacity", flavor, "-o", "csv", "-c", "host", "-c", "more")
    (fits,) = cli.ask("capacity", flavor)
    rows = list(csv.reader(io.StringIO(more)))
    assert rows[0] == ["host", "more"]
    assert [host, str(fits["hosts"][host])] in rows[1:]
    names = cli.do("select", "--flavor", flavor, "--dry-run", "-c", "host")
    assert names.split()[0] == "host"
    assert host in names.split()


def test_nothing_is_done_for_an_unknown_column(cli: Program, host: str) -> None:
    name = f"provider-{uuid4()}"
    said = cli.fail("provider", "create", name, "-c", "id", status=2)
    assert "There is no column 'id'; columns: uuid, name, generation" in said
    assert cli.ask("provider", "list", "--name", name) == []
    said = cli.fail("host", "update", host, "vcpus=9", "-c", "vcpus", status=2)
    assert "columns: host, node," in said
    assert cli.ask("host", "show", host)["stats"]["vcpus"] == 8


def test_an_update_prints_each_field_that_a_host_shows(cli: Program, host: str) -> None:
    fields = cli.do("host", "show", host, "-o", "csv").split("\n")[0].split(",")
    for field in fields:
        shown = cli.do("host", "update", host, "vcpus=8", "-o", "value", "-c", field)
        if field != "updated_at":
            assert shown == cli.do("host", "show", host, "-o", "value", "-c", field)


def test_a_picture_has_no_columns(cli: Program, host: str) -> None:
    for words in (("-c", "host"), ("-o", "value")):
        said = cli.fail("host", "show", host, "--topology", *words, status=2)
        assert "which has no columns" in said


def test_watched_changes_in_every_format(cli: Program, host: str) -> None:
    words = ("watch", "--since", "0", "--no-follow", "-c", "kind", "-c", "id")
    kinds = cli.do(*words, "-o", "value").splitlines()
    listed = yaml.safe_load(cli.do(*words, "-o", "yaml"))
    assert [f"{one['kind']} {one['id']}" for one in listed] == kinds
    rows = list(csv.reader(io.StringIO(cli.do(*words, "-o", "csv"))))
    assert rows[0] == ["kind", "id"]
    assert [" ".join(row) for row in rows[1:]] == kinds
