"""When room runs out: how fast use has grown so far, at every time in its history.

Each time in the past is asked how long room like this would have lasted from there: how
long until use had grown by so much, measured in what it usually grew by just before.
The answers, sorted, are the forecast: a date that one answer in ten comes before, and
so on. Those of which the history ends too early count until there (Kaplan and Meier).
Nothing is fitted, and nothing is drawn: the same history gives the same dates.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.state.column import Bools, Floats, Int64s

LEAST: Final = 48
"""Values that a history must have."""
CHANCES: Final = (0.1, 0.5, 0.9)
"""Of having run out, for each date."""
_MOST_ORIGINS: Final = 200
_PARTS: Final = 8


class Passage(Struct, frozen=True):
    """``steps``: for each of CHANCES after how many steps of the history; None: not
    within ``horizon`` steps. ``chance``: that it runs out within it. ``origins``: times
    of the past that were asked. ``first``: the class that was used up first at most of
    them, by its place; None: none was within it."""

    steps: tuple[int | None, ...]
    chance: float
    horizon: int
    origins: int
    first: int | None = None


def passage(history: Floats, headroom: Floats, horizon: int) -> Passage | None:
    """``history``: float64[n, classes], what was used, evenly in time, the latest last.
    ``headroom``: float64[classes], by how much use may grow; what runs out first
    counts. None: there is too little history (``LEAST``). ``horizon`` is shortened to
    half of the history: what lies further was never seen."""
    length = len(history) - 1
    horizon = min(horizon, length // 2)
    look = min(horizon, length // 4)
    if length + 1 < LEAST or horizon < _PARTS:
        return None
    times = np.arange(look, length - max(horizon // 4, 1))
    times = times[:: max(1, math.ceil(len(times) / _MOST_ORIGINS))]
    now = _pace(history, length, look)
    ahead = times[:, None] + np.arange(1, horizon + 1)
    seen = ahead <= length
    grown = history[np.minimum(ahead, length)] - history[times][:, None]
    paces = np.stack([_pace(history, int(at), look) for at in times])
    # Hours without any change say nothing about how much a change is.
    paces = np.maximum(paces, np.median(paces, axis=0) / _PARTS)
    scaled = grown * (now / paces)[:, None]
    is_out = ((scaled >= headroom) & seen[:, :, None]).any(axis=2)
    found = _survival(is_out, seen.sum(axis=1), horizon)
    return replace(found, first=_first(is_out, scaled / headroom))


def _first(is_out: Bools, parts: Floats) -> int | None:
    """``parts``: float64[origins, horizon, classes], of the headroom of each class."""
    happened = is_out.any(axis=1)
    if not happened.any():
        return None
    steps = is_out.argmax(axis=1)[happened]
    classes = parts[np.flatnonzero(happened), steps].argmax(axis=1)
    return int(np.bincount(classes).argmax())


def _pace(history: Floats, at: int, look: int) -> Floats:
    """float64[classes]: what use changed by, on average, in each part of the ``look``
    steps before ``at``."""
    places = np.linspace(at - look, at, _PARTS + 1).astype(np.int64)
    pace: Floats = np.abs(np.diff(history[places], axis=0)).mean(axis=0)
    return np.maximum(pace, 1e-6)


def _survival(is_out: Bools, seen: Int64s, horizon: int) -> Passage:
    """``is_out``: bool[origins, horizon]; ``seen``: int64[origins], steps known."""
    happened = is_out.any(axis=1)
    lasted = np.where(happened, is_out.argmax(axis=1) + 1, seen)
    steps: list[int | None] = [None] * len(CHANCES)
    left = 1.0
    for step in np.unique(lasted[happened]).tolist():
        at_risk = int((lasted >= step).sum())
        left *= 1 - int((happened & (lasted == step)).sum()) / at_risk
        for place, chance in enumerate(CHANCES):
            if steps[place] is None and 1 - left >= chance - 1e-12:
                steps[place] = int(step)
    return Passage(tuple(steps), 1 - left, horizon, len(seen))
