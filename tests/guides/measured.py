"""Suites of ``python -m bench``, run as a guide shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.guides.guide import shown
from tests.shown import Terminal


class Line(NamedTuple):
    """One row of what is printed; a long ``work`` goes on in the next one."""

    work: str
    goal: str
    gantt: str
    verdict: str


def suite(guide: str, name: str) -> list[Line]:
    """What the suite finds, by the only command of the guide that names it."""
    (command,) = (
        one
        for block in shown(guide)
        for one in block.commands
        if one.endswith(f"python -m bench {name}")
    )
    with Terminal() as checkout:
        return list(_lines(checkout.type(command)))


def _lines(said: str) -> Iterator[Line]:
    """Raises AssertionError where there are none."""
    rows = [line for line in said.splitlines() if line.startswith("│")]
    assert rows, said
    for row in rows:
        work, goal, gantt, _, _, verdict = (one.strip() for one in row.split("│")[1:-1])
        if gantt:
            yield Line(work, goal, gantt, verdict)
