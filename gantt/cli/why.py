"""Text on why a request has no hosts: what each filter left, the nearest hosts, and the
smallest change that would help.

Separate from the commands because ``select``, ``explain`` and ``capacity`` all use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gantt.cli.output import plain, table
from gantt.model.diagnosis import Diagnosis
from gantt.model.selection import Near, Step, Why

STEPS = ("filter", "before", "after", "removed_alone")


def why_text(why: Why) -> str:
    """All reasons as paragraphs; empty if none are known."""
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
        more = "A smaller change may also help" if why.change else "A change may help"
        yield (
            f"{more}: the search stopped at change_budget of [scheduler], or because "
            "of concurrent writes."
        )


def steps_text(steps: Iterable[Step]) -> str:
    """The effect of each filter."""
    return table(STEPS, step_rows(steps))


def step_rows(steps: Iterable[Step]) -> list[tuple[Any, ...]]:
    """A row for each filter."""
    return [(one.name, one.before, one.after, one.removed_alone) for one in steps]


def nearest_text(nearest: Iterable[Near]) -> str:
    """The nearest hosts, and the filters that removed them."""
    rows = [(one.host, one.node, ", ".join(one.removed_by)) for one in nearest]
    return "Nearest:\n" + table(("host", "node", "removed_by"), rows)


def _books_text(found: Diagnosis) -> str:
    lines = ["; ".join(lack.text for lack in miss.lacks) for miss in found.misses]
    return "Nearest misses:\n" + "\n".join(f"  {line}" for line in lines)
