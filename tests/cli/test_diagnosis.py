"""``gantt candidates --explain``, over HTTP and in process, in every format."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from uuid import uuid4

import pytest

import gantt as library
from gantt.cli.main import gantt
from tests.cli.conftest import Program


@pytest.fixture(params=["http", "file"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    """``gantt`` against a service and against a database of its own."""
    if request.param == "http":
        found: Program = request.getfixturevalue("cli")
        return found
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    library.connect(url, create=True).close()
    return Program(gantt, url)


def a_request(program: Program) -> tuple[str, str, str]:
    """A class and a trait of which different hosts have too little; the nearest."""
    mark = uuid4().hex[:12].upper()
    rc, trait, host = f"CUSTOM_{mark}", f"CUSTOM_T_{mark}", f"cli-{mark}"
    program.do("resource-class", "create", rc)
    program.do("trait", "create", trait)
    for name, amount in ((host, 6), (f"{host}-small", 2)):
        program.do("provider", "create", name)
        program.do("inventory", "set", name, f"{rc}={amount}")
    program.do("trait", "add", f"{host}-small", trait)
    return rc, trait, host


def test_explain_prints_a_table_with_advice(program: Program) -> None:
    rc, trait, host = a_request(program)
    told = program.do("candidates", f"{rc}=8", "--explain")
    assert "removed_alone" in told
    assert f"8 {rc}" in told
    assert "Nearest:" in told
    assert f"  {host}: 0 of 6 {rc} in use" in told
    assert f"This change would give candidates: ask for 6 instead of 8 {rc}." in told
    words = ("--group", "_A", f"{rc}=9", "--forbidden", f"_A:{trait}", "--explain")
    told = program.do("candidates", *words)
    assert f"ask for 6 instead of 9 {rc} in group _A" in told
    told = program.do("candidates", f"{rc}=6", "--explain")
    assert "There are candidates." in told
    assert "Nearest:" not in told


def test_explain_says_when_no_single_change_helps(program: Program) -> None:
    rc, *_ = a_request(program)
    words = ("--required", "CUSTOM_T", "--member-of", str(uuid4()))
    told = program.do("candidates", f"{rc}=9", *words, "--explain")
    assert "No single change to the request would give candidates." in told
    assert "trait CUSTOM_T (unknown)" in told


def test_explain_json_holds_the_whole_diagnosis(program: Program) -> None:
    rc, _, host = a_request(program)
    found = program.ask("candidates", f"{rc}=8", "--explain")
    assert found["has_candidates"] is False
    assert found["misses"][0]["lacks"][0]["provider_name"] == host
    assert found["relaxation"]["lowered"] == 6


def test_explain_csv_is_one_listing(program: Program) -> None:
    rc, trait, host = a_request(program)
    words = ("candidates", f"{rc}=4", "--required", trait, "--explain", "-o", "csv")
    listed = list(csv.DictReader(io.StringIO(program.do(*words))))
    constraints = [row for row in listed if row["part"] == "constraint"]
    assert [(row["what"], row["passed"], row["removed_alone"]) for row in constraints][
        :3
    ] == [
        (f"4 {rc}", "1", "1"),
        (f"trait {trait}", "1", "1"),
        ("all of these", "0", ""),
    ]
    (helps,) = (row for row in listed if row["part"] == "relaxation")
    assert helps["what"] == f"ask for 2 instead of 4 {rc}"
    assert any(host in row["what"] for row in listed if row["part"] == "miss")


def test_explain_refuses_unknown_names(program: Program) -> None:
    assert "CUSTOM_NOBODY" in program.fail("candidates", "CUSTOM_NOBODY=1", "--explain")
