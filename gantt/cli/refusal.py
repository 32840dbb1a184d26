"""Why no host was found, as text: what each filter removed, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from gantt.cli.failure import Failed
from gantt.cli.output import DOCUMENTS, plain, print_document, table
from gantt.errors import NoValidHost
from gantt.model.selection import Near, Step, Why


def refused(output: str, refusal: NoValidHost) -> click.ClickException:
    """``refusal`` with its reasons: on standard error, or as output for JSON and
    YAML."""
    why = refusal.why if isinstance(refusal.why, Why) else Why()
    if output in DOCUMENTS:
        print_document({"failure": refusal.message, "why": why}, output)
        return Failed(refusal.message)
    return Failed(refusal.message, why_text(why))


def refused_plainly(output: str, refusal: NoValidHost) -> click.ClickException:
    """``refusal`` of what was asked for in plain words."""
    why = refusal.why if isinstance(refusal.why, Why) else Why()
    if output in DOCUMENTS:
        return refused(output, refusal)
    return Failed(refusal.message, "\n".join(plain(list(why.said))))


def why_text(why: Why, *, is_refused: bool = True) -> str:
    """All reasons as paragraphs; empty if none are known. ``is_refused``: nothing fits,
    so that it is told what would help."""
    return "\n\n".join(_reasons(plain(why), is_refused))


def _reasons(why: Why, is_refused: bool) -> Iterator[str]:
    if why.steps:
        yield steps_text(why.steps)
    if why.nearest:
        yield _nearest_text(why.nearest)
    if is_refused and why.help:
        yield why.help
    if why.is_truncated:
        more = "A smaller change may also help" if why.change else "A change may help"
        yield (
            f"{more}: the search stopped at change_budget of [scheduler], or because "
            "of concurrent writes."
        )


def steps_text(steps: Iterable[Step]) -> str:
    """The effect of each filter."""
    rows = [(one.name, one.before, one.after, one.removed_alone) for one in steps]
    return table(("filter", "before", "after", "removed_alone"), rows)


def _nearest_text(nearest: Sequence[Near]) -> str:
    """The nearest hosts, the filters that removed them, and what each lacks."""
    columns = ["host", "node", "removed_by"]
    if any(one.lacks for one in nearest):
        columns.append("lacks")
    rows = [
        (one.host, one.node, ", ".join(one.removed_by), one.lacks or "")[: len(columns)]
        for one in nearest
    ]
    return "Nearest:\n" + table(columns, rows)
