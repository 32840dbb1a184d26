"""Why a request has no hosts, for people: what each filter left, who came nearest, and
the smallest change that would help.

Apart from the commands because ``select``, ``explain`` and ``capacity`` all tell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gantt.cli.output import plain, table
from gantt.model.diagnosis import Diagnosis
from gantt.model.selection import Near, Step, Why

STEPS = ("filter", "before", "after", "removed_alone")


def why_text(why: Why) -> str:
    """All of it, as paragraphs; empty where nothing is known."""
    return "\n\n".join(_paragraphs(plain(why)))


def _paragraphs(why: Why) -> Iterator[str]:
    if why.steps:
        yield steps_text(why.steps)
    if why.nearest:
        yield nearest_text(why.nearest)
    if why.books is not None and why.books.misses:
        yield _books_text(why.books)
    if why.change:
        yield f"This would help: {why.change}."
    if why.is_truncated:
        more = "A smaller change may do, too" if why.change else "A change may help"
        yield (
            f"{more}: the search ended at change_budget of [scheduler], or others "
            "wrote meanwhile."
        )


def steps_text(steps: Iterable[Step]) -> str:
    """What each filter did."""
    return table(STEPS, step_rows(steps))


def step_rows(steps: Iterable[Step]) -> list[tuple[Any, ...]]:
    """A row for each filter."""
    return [(one.name, one.before, one.after, one.removed_alone) for one in steps]


def nearest_text(nearest: Iterable[Near]) -> str:
    """Who came nearest."""
    rows = [(one.host, one.node, ", ".join(one.removed_by)) for one in nearest]
    return "Nearest:\n" + table(("host", "node", "removed_by"), rows)


def _books_text(found: Diagnosis) -> str:
    lines = ["; ".join(lack.text for lack in miss.lacks) for miss in found.misses]
    return "What the nearest lack:\n" + "\n".join(f"  {line}" for line in lines)
