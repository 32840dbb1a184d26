"""Output of ``gantt candidates --explain``: the counts of a Diagnosis, then advice.

Separate from the command because the formats differ: JSON has the whole document, CSV
a single listing, and the table is followed by sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gantt.cli.output import plain, print_document, print_rows, say
from gantt.model.diagnosis import Count, Diagnosis, document

COLUMNS = ("group", "what", "passed", "trees", "removed_alone", "trees_alone")
ADVICE = ("part", *COLUMNS)
Row = tuple[Any, ...]


def print_diagnosis(output: str, found: Diagnosis) -> None:
    """Print ``found`` in one of the formats."""
    if output == "json":
        print_document(document(found))
    elif output == "csv":
        counts = [("constraint", *row) for row in _counts(found)]
        advice = [
            (part, where, text, *[None] * 4) for part, where, text in _advice(found)
        ]
        print_rows(output, ADVICE, [*counts, *advice])
    else:
        print_rows(output, COLUMNS, _counts(found))
        _tell(plain(found))


def _counts(found: Diagnosis) -> Iterator[Row]:
    """Each group's constraints and their total, then those of the whole request."""
    for group in found.groups:
        name = group.suffix or "-"
        for one in group.constraints:
            text = one.text + (" (unknown)" if one.unknown else "")
            yield (name, text, *_cells(one.passed, one.removed_alone))
        yield (name, "all of these", *_cells(group.passed, group.removed_alone))
    for one in found.whole:
        yield ("*", one.text, *_cells(one.passed, one.removed_alone))


def _cells(passed: Count, alone: Count) -> Row:
    return passed.providers, passed.trees, alone.providers, alone.trees


def _advice(found: Diagnosis) -> Iterator[tuple[str, str, str]]:
    for miss in found.misses:
        for lack in miss.lacks:
            where = "*" if lack.suffix is None else lack.suffix or "-"
            yield "miss", where, lack.text
    helps = found.relaxation
    if helps is not None:
        where = "*" if helps.suffix is None else helps.suffix or "-"
        yield "relaxation", where, helps.text


def _tell(found: Diagnosis) -> None:
    say(
        f"\nOf {found.trees} trees ({found.providers} providers), {found.viable} meet "
        "each group on its own."
    )
    if found.walked < found.viable:
        say(f"Combinations of groups were tried on {found.walked} of these.")
    if found.has_candidates:
        say("There are candidates.")
    elif found.misses:
        say("\nNearest:")
    for miss in found.misses:
        say("  " + "; ".join(lack.text for lack in miss.lacks))
    if found.relaxation is not None:
        say(f"\nThis change would give candidates: {found.relaxation.text}.")
    elif not found.has_candidates and not found.is_truncated:
        say("\nNo single change to the request would give candidates.")
    if found.is_truncated:
        say("\nNot every possible change was tried: the search reached its limit.")
