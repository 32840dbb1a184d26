"""``gantt place`` and ``gantt placement``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from tests import inprocess
from tests.cli.conftest import Program
from tests.cli.test_scheduling import REPORT


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Program]:
    """The program against a service of its own with two hosts."""
    with inprocess.service(tmp_path) as url:
        program = Program(gantt, url)
        for host in ("one", "two"):
            program.do("host", "update", host, *REPORT)
        program.do("host", "update", "two", 'traits=["CUSTOM_SSD_YES"]')
        yield program


def test_places_are_booked_shown_and_released(fleet: Program) -> None:
    amounts = ("--cpu", "2", "--memory", "4GiB", "--disk", "10GiB")
    lines = fleet.do("place", "web", "--count", "3", *amounts).splitlines()
    assert lines[0].split() == ["name", "host", "node", "item", "uuid"]
    assert [line.split()[0] for line in lines[1:]] == ["web-1", "web-2", "web-3"]
    db = fleet.ask("place", "db", "--cpu", "1", "--label", "ssd=yes", "--plan", "p")
    assert [one["host"] for one in db["placements"]] == ["two"]
    wish = fleet.ask("place", "wish", "--cpu", "1", "--prefer", "ssd=yes", "--dry-run")
    assert [one["host"] for one in wish["placements"]] == ["two"]
    found = fleet.ask("placement", "list")
    assert {one["name"] for one in found} == {"web-1", "web-2", "web-3", "db"}
    (shown,) = fleet.ask("placement", "show", "db")
    assert (shown["state"], shown["plan"]) == ("placed", "p")
    assert list(shown["allocations"].values()) == [{"VCPU": 1}]
    fleet.do("placement", "release", "web-2")
    fleet.do("placement", "release", "--plan", "p")
    assert len(fleet.ask("placement", "list")) == 2
    assert "'db' is placed" in fleet.fail("placement", "show", "db")
    fleet.do("place", "db", "--cpu", "1", "--lease", "60")
    fleet.do("placement", "confirm", "db")
    (shown,) = fleet.ask("placement", "show", "db")
    assert (shown["state"], shown["leased_until"]) == ("placed", None)


def test_items_come_from_a_file(fleet: Program, tmp_path: Path) -> None:
    items = [
        {"name": "a", "cpu": 1, "not_with": ["b"]},
        {"name": "b", "cpu": 1, "resources": {"DISK_GB": "1GiB"}},
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps({"items": items}))
    found = fleet.ask("place", "--file", str(path), "--dry-run")["placements"]
    assert {one["host"] for one in found} == {"one", "two"}
    assert fleet.ask("placement", "list") == []
    path.write_text("{}")
    assert "has no items" in fleet.fail("place", "--file", str(path), status=2)


def test_relations_are_told_in_a_few_letters(fleet: Program, tmp_path: Path) -> None:
    for host in ("one", "two"):
        fleet.do("host", "label", host, f"rack=r{host}")

    def hosts(*words: str) -> list[str]:
        found = fleet.ask("place", *words, "--cpu", "1")["placements"]
        return [placed["host"] for placed in found]

    spread = ("--spread", "rack:1:hard", "--distinct", "rack:2,host:2")
    assert sorted(hosts("web", "--count", "2", *spread)) == ["one", "two"]
    (first, other) = hosts("db", "--count", "2", "--distinct", "rack")
    assert hosts("log", "--near", "rack:db-1") == [first]
    assert hosts("copy", "--apart", "rack:db-1", "--near", "host:db-2") == [other]
    for words in ("--near=rack", "--apart=:db"):
        assert "is no KEY:NAME" in fleet.fail("place", "x", "--cpu=1", words, status=2)
    assert "such as rack:1:hard" in fleet.fail("place", "x", "--spread", "rack:x")
    items = [{"name": name, "cpu": 1} for name in "ab"]
    relations = [{"kind": "apart", "key": "rack", "to": "b"}]
    path = tmp_path / "items.json"
    path.write_text(json.dumps({"items": items, "relations": relations}))
    found = fleet.ask("place", "--file", str(path))["placements"]
    assert {placed["host"] for placed in found} == {"one", "two"}


def test_a_refusal_is_told_in_plain_words(fleet: Program) -> None:
    told = fleet.fail("place", "web", "--cpu", "99").splitlines()
    assert told[0] == "Error: There is no room for 'web' (99 CPUs). Nothing was placed."
    assert "Of 2 hosts, 2 without enough free, or without what is asked for." in told
    assert "This would help: ask for 8 instead of 99 CPUs." in told


@pytest.mark.parametrize(
    ("words", "told", "status"),
    [
        ((), "Give a NAME", 2),
        (("web", "--resource", "VGPU"), "'VGPU' is no KEY=VALUE", 2),
        (("web", "--cpu", "1", "--label", "sdd=yes"), "labels: 'sdd=yes'", 1),
        (("web", "--memory", "4 cores"), "memory: '4 cores'", 1),
        (("web",), "Item 'web' asks for nothing", 1),
    ],
)
def test_what_is_wrong_is_told(
    fleet: Program, words: tuple[str, ...], told: str, status: int
) -> None:
    assert told in fleet.fail("place", *words, status=status)


def test_artifacts_are_registered_listed_and_asked_for(fleet: Program) -> None:
    fleet.do("host", "update", "two", 'holds={"web": 4402341478}')
    lines = fleet.do("artifact", "register", "model", "130GiB").splitlines()
    assert lines[1].split() == ["model", "130.0", "GiB", "True", "0"]
    assert [one["name"] for one in fleet.ask("artifact", "list")] == ["model", "web"]
    (web,) = fleet.ask("artifact", "list", "web")
    assert web == {"name": "web", "size": "4.1 GiB", "registered": False, "hosts": 1}
    assert "4.1 GiB" in fleet.do("host", "show", "two")
    found = fleet.ask("place", "a", "--cpu", "1", "--artifact", "web")
    assert found["placements"][0]["host"] == "two"
    refused = fleet.fail("place", "b", "--cpu", "1", "--need-artifact", "model")
    assert "Of 2 hosts, 2 without the artifact model." in refused
    fleet.do("artifact", "remove", "model")
    assert "No artifact 'model'" in fleet.fail("artifact", "remove", "model")
