"""Trees, names beside uuids, and pages of lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.connection import connect
from gantt.model.commands import Inventory
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostStats
from tests.cli.conftest import Program

EVIL = "evil\x1b[31m\u202ename"


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    """Books with a tree of four providers, and one beside it."""
    url = f"sqlite:///{tmp_path / 'books.db'}"
    books = connect(url, create=True)
    root = books.create_provider("host")
    cell = books.create_provider("cell0", parent_uuid=root.uuid)
    books.create_provider("cell1", parent_uuid=root.uuid)
    card = books.create_provider(EVIL, parent_uuid=cell.uuid)
    books.set_inventory(card.uuid, "VGPU", Inventory(total=8, reserved=2))
    books.create_provider("other")
    for number in range(3):
        books.update_host(f"h{number}", None, _stats(number))
    books.close()
    return Program(gantt, url)


def _stats(number: int) -> HostStats:
    return read_stats({"vcpus": 8, "memory_mb": 8, "local_gb": 1}, host=f"h{number}")


def test_a_tree_is_drawn_from_any_of_its_providers(cli: Program) -> None:
    for name in ("host", "cell1"):
        lines = cli.do("provider", "tree", name, "-o", "table").splitlines()
        heads = [line.split("   ")[0].rstrip() for line in lines]
        assert heads[0] == "provider"
        assert [line[:8].rstrip() for line in lines[1:]] == [
            "host",
            "├─ cell0",
            "│  └─ ev",
            "└─ cell1",
        ]
        assert "VGPU=0/6" in lines[3]
        assert "\x1b[31" not in lines[3]
        assert "\u202e" not in lines[3]


def test_a_tree_for_programs(cli: Program) -> None:
    found = cli.ask("provider", "tree", "host")
    assert [(one["provider"], one["parent"]) for one in found] == [
        ("host", None),
        ("cell0", "host"),
        (EVIL, "cell0"),
        ("cell1", "host"),
    ]
    assert found[2]["used"] == {"VGPU": "0/6"}


def test_names_are_beside_uuids(cli: Program) -> None:
    found = {one["name"]: one for one in cli.ask("provider", "list")}
    assert found["cell0"]["parent"] == "host"
    assert found["host"]["parent"] is None
    (card,) = cli.ask("provider", "list", "--resource", "VGPU=1")
    assert card["parent"] == "cell0"
    cli.do("allocation", "set", "new", "--provider", EVIL, "VGPU=1")
    (candidate,) = cli.ask("candidates", "VGPU=1", "-c", "provider", "-c", "name")
    assert candidate == {"provider": card["uuid"], "name": EVIL}
    (made,) = cli.ask("allocation", "set", "new", "--provider", EVIL, "VGPU=1")
    assert made["provider_name"] == EVIL


@pytest.mark.parametrize(
    ("noun", "column", "size"), [("provider", "uuid", 8), ("host", "host", 3)]
)
def test_pages(cli: Program, noun: str, column: str, size: int) -> None:
    whole = cli.ask(noun, "list")
    assert len(whole) == size
    found: list[str] = []
    marker: tuple[str, ...] = ()
    while True:
        told = cli.run(
            noun, "list", "--limit", "2", *marker, "-o", "value", "-c", column
        )
        found += told.stdout.split()
        if "There may be more: " not in told.stderr:
            break
        marker = tuple(told.stderr.split(": ")[1].split())
    assert found == [one[column] for one in whole]


def test_a_marker_that_is_not_in_the_list(cli: Program) -> None:
    told = cli.fail("provider", "list", "--marker", EVIL)
    assert "The list has no " in told
    assert "\x1b" not in told
    assert cli.run("host", "list", "--limit", "0").exit_code == 2
