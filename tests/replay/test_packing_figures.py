"""The figures that the page on packing tells are those of the files it names."""

from __future__ import annotations

from typing import Any

from msgspec import json

from gantt.replay.packing.policies import POLICIES
from tests.shown import document
from tests.tidy.source import ROOT

PAGE = "docs/explanation/packing.md"


def results(name: str) -> dict[str, dict[str, Any]]:
    found = json.decode((ROOT / "docs/bench" / f"packing-{name}.json").read_bytes())
    words = found["command"].split()
    assert words[:3] == ["gantt", "replay", "packing"]
    assert "--policy" not in words
    return {one["policy"]: one for one in found["results"]}


def rows(header: str) -> dict[str, list[str]]:
    """First cell -> the others, of the table of ``PAGE`` that begins so."""
    _, _, table = document(PAGE).partition(header)
    lines = table.split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {one[0].strip("`"): one[1:] for one in cells}


def test_the_figures_of_openb() -> None:
    told, found = rows("| policy | 90 % |"), results("openb")
    assert set(POLICIES) == set(found) < set(told)
    for policy, one in found.items():
        points = [one["placed_at"][point] for point in ("90", "95", "100", "130")]
        expected = [f"{each:.1f} %" for each in (*points, 100 - points[-1])]
        assert told[policy][:5] == expected, policy


def test_the_figures_of_azure() -> None:
    told, found = rows("| policy | empty hosts, mean |"), results("azure")
    assert set(POLICIES) == set(found) == set(told)
    for policy, one in found.items():
        stranded = [f"{100 * part:.1f} %" for part in one["stranded_mean"].values()]
        empty = [f"{one['empty_hosts_mean']:.1f}", str(one["empty_hosts_least"])]
        assert told[policy] == [*empty, *stranded], policy
        assert one["refused"] == 0
