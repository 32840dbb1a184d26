"""``gantt host adopt``: shows what would move, and moves it with --yes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from tests import inprocess
from tests.cli.conftest import Program

A = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with inprocess.service(tmp_path) as url:
        found = Program(gantt, url)
        found.do("host", "update", "old", "vcpus=8", "memory_mb=1024", "local_gb=9")
        uuid = found.ask("host", "show", "old")["provider_uuid"]
        words = ("--project", "blue", "--user", "ann")
        found.do("allocation", "set", A, f"{uuid}:VCPU=2", *words)
        yield found


def test_it_shows_first_and_moves_with_yes(program: Program) -> None:
    shown = program.ask("host", "adopt", "old", "new")
    assert shown["allocations"] == {A: {"VCPU": 2}}
    assert (shown["host"], shown["new_host"]) == ("old", "new")
    assert shown["inventories"] == {"DISK_GB": 9, "MEMORY_MB": 1024, "VCPU": 8}
    assert "old" in program.do("host", "list")
    assert "new_host" in program.do("host", "adopt", "old", "new", "--yes")
    listed = program.do("host", "list")
    assert "new" in listed and "old" not in listed
    (record,) = program.ask("explain", A)
    assert (record["driver"], record["takeover"]["new_host"]) == ("adopt", "new")
    assert "took over what host old, node old had" in program.do("explain", A)


def test_what_cannot_be_is_refused(program: Program) -> None:
    assert "no host gone" in program.fail("host", "adopt", "gone", "new")
    assert "that name and uuid already" in program.fail("host", "adopt", "old", "--yes")
