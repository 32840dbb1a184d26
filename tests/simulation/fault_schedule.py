"""Random faults from a seed, by kind.

Separate from the stores because all of them have the same faults. Each seed has its own
frequencies: some kinds often, some never.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

CRASH: Final = "crash"
ABORT: Final = "abort"
ABORT_COMMIT: Final = "abort at commit"
KEPT: Final = "answer lost, kept"
DROPPED: Final = "answer lost, not kept"
CUT: Final = "connection lost"
FULL: Final = "disk full"
SLOW: Final = "slow disk"
PAUSE: Final = "pause"
CLOCK: Final = "clock jumps"
KINDS: Final = (
    CRASH,
    ABORT,
    ABORT_COMMIT,
    KEPT,
    DROPPED,
    CUT,
    FULL,
    SLOW,
    PAUSE,
    CLOCK,
)

# Highest probability per statement (per commit for faults of commits).
_RATES: dict[str, float] = {
    CRASH: 0.006,
    ABORT: 0.02,
    ABORT_COMMIT: 0.15,
    KEPT: 0.12,
    DROPPED: 0.12,
    CUT: 0.015,
    FULL: 0.015,
    SLOW: 0.02,
    PAUSE: 0.006,
    CLOCK: 0.01,
}
_CLIMATES = (0.0, 0.0, 0.3, 1.0, 1.0)


class FaultSchedule:
    """Queried at each statement; ``struck`` counts faults."""

    def __init__(self, seed: object, without: frozenset[str] = frozenset()) -> None:
        climate = random.Random(f"{seed} climate")
        rates = {kind: _RATES[kind] * climate.choice(_CLIMATES) for kind in KINDS}
        self.rates = {k: 0.0 if k in without else r for k, r in rates.items()}
        self._dice = {kind: random.Random(f"{seed} {kind}") for kind in KINDS}
        # Whether faults may occur between statements of one pipeline.
        self.is_piecewise = random.Random(f"{seed} pieces").random() < 0.5
        self.struck: Counter[str] = Counter()
        self.is_clear = False

    def strikes(self, kind: str) -> bool:
        """Whether a fault of ``kind`` occurs now."""
        if self._dice[kind].random() >= self.rates[kind] or self.is_clear:
            return False
        self.struck[kind] += 1
        return True

    def amount(self, kind: str, least: float, most: float) -> float:
        """The severity."""
        return self._dice[kind].uniform(least, most)
