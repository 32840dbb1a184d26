"""A story in which the services disagree, made short enough for a transcript.

Steps are taken out, and parts of the steps that are left, for as long as the services
still disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gantt.conf import Settings
from tests.differential.compare import Differs
from tests.differential.pair import LATEST, pair
from tests.differential.step import Step
from tests.differential.upstream import upstream


def retell(settings: Settings, steps: Sequence[Step]) -> tuple[list[Step], str] | None:
    """The settled steps up to a difference, and it; None when there is none."""
    told: list[Step] = []
    with pair(settings, upstream()) as both:
        try:
            for step in steps:
                settled = both.settle(step)
                told.append(settled)
                both.send(settled)
            both.compare_books(LATEST)
        except Differs as difference:
            return told, str(difference)
    return None


def shorten(settings: Settings, steps: list[Step]) -> list[Step]:
    """Steps that still make the services differ: nothing of them can be left out."""
    steps = _fewer(settings, steps)
    place = 0
    while place < len(steps):
        for simpler in _simpler(steps[place]):
            changed = [*steps[:place], simpler, *steps[place + 1 :]]
            if _differs(settings, changed):
                steps = changed
                break
        else:
            place += 1
    return _fewer(settings, steps)


def _fewer(settings: Settings, steps: list[Step]) -> list[Step]:
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            shorter = steps[:start] + steps[start + size :]
            told = _differs(settings, shorter)
            if told:
                steps = shorter[:told]
            else:
                start += size
        size //= 2
    return steps


def _differs(settings: Settings, steps: Sequence[Step]) -> int:
    """How many steps it takes until the services differ; 0: they do not."""
    try:
        found = retell(settings, steps)
    except (KeyError, TypeError, AttributeError):
        # A body so short that not even the reason of a ghost can be read from it.
        return 0
    return len(found[0]) if found else 0


def _simpler(step: Step) -> Iterator[Step]:
    """``step`` with one thing less in its query or its body."""
    path, _, query = step.target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    for place in range(len(pairs)):
        rest = urlencode(pairs[:place] + pairs[place + 1 :])
        yield Step(step.method, f"{path}?{rest}", step.version, step.body)
    for body in _smaller(step.body):
        yield Step(step.method, step.target, step.version, body)


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            # Without a uuid each service would think up one of its own.
            if key != "uuid":
                yield {other: each for other, each in value.items() if other != key}
            yield from ({**value, key: less} for less in _smaller(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            head, rest = value[:place], value[place + 1 :]
            yield head + rest
            yield from ([*head, less, *rest] for less in _smaller(inner))
