"""``gantt capacity --fair``: how many more of several flavors fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from gantt.cli.command_session import CommandSession
from gantt.cli.output import plain, say, table
from gantt.model.capacity import By, FairSplit, Share, Split
from gantt.model.spec import RequestSpec

_COLUMNS = ("by", "flavor", "more", "alone", "weight", "blocked_by")


def weights_of(mix: str | None, specs: Sequence[RequestSpec]) -> list[float] | None:
    """``a=3,b=1``: weights by the names of flavors; those not named have 1. Raises
    click.UsageError."""
    if mix is None:
        return None
    names = [one.flavor.name for one in specs]
    found = dict.fromkeys(names, 1.0)
    for part in filter(None, (one.strip() for one in mix.split(","))):
        name, _, text = part.rpartition("=")
        if name not in found:
            raise click.UsageError(
                f"--mix {part!r}: no flavor has the name {name!r}; write name=a in a "
                "flavor, and a=3 here."
            )
        try:
            found[name] = float(text)
        except ValueError:
            raise click.UsageError(f"--mix {part!r}: {text!r} is no number.") from None
    return [found[name] for name in names]


def show_split(
    session: CommandSession,
    specs: Sequence[RequestSpec],
    weights: list[float] | None,
    by: By,
) -> None:
    """Ask for it and print it."""
    found = session.books.fair_split(specs, weights, by=by)
    if session.is_prose:
        say("\n\n".join(_paragraphs(plain(found))))
        return
    session.print_answer(found, _COLUMNS, _rows(found))


def _rows(found: FairSplit) -> Iterator[tuple[Any, ...]]:
    for split in found.splits:
        for one in split.shares:
            yield split.name, one.flavor, one.more, one.alone, one.weight, _blocks(one)


def _blocks(one: Share) -> str:
    return ", ".join(f"{name} {hosts}" for name, hosts in one.limits.items())


def _paragraphs(found: FairSplit) -> Iterator[str]:
    if not found.splits:
        yield f"There is no {found.by}."
    for split in found.splits:
        yield "\n".join(_split(found.by, split))
    if found.by == "fleet":
        yield from _where(found.splits[0])


def _split(by: str, split: Split) -> Iterator[str]:
    if by != "fleet":
        yield f"{by} {split.name}:"
    rows = [
        (
            one.flavor,
            f"{'at least ' * one.is_lower_bound}{one.more}",
            one.alone,
            _blocks(one),
        )
        for one in split.shares
    ]
    yield table(("flavor", "more", "alone", "blocked by, on hosts"), rows)
    if split.level_bound > split.level:
        yield (
            f"The least share is {split.level:.10g} by weight; no split has more than "
            f"{split.level_bound:.10g}."
        )


def _where(split: Split) -> Iterator[str]:
    for title, key in (("zone", "zones"), ("aggregate", "aggregates")):
        names = sorted({name for one in split.shares for name in getattr(one, key)})
        if names:
            rows = [
                (name, *(getattr(one, key).get(name, 0) for one in split.shares))
                for name in names
            ]
            yield table((title, *(one.flavor for one in split.shares)), rows)
