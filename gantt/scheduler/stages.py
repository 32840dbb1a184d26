"""The parts of a decision that take time, told as they begin, to be measured elsewhere.

A decision does not know about clocks: it calls its ``Mark``, if there is one, where a
stage begins. A stage that is skipped, because its results are cached, is not told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

Mark: TypeAlias = Callable[[str], None]
"""This stage begins, and the one before is over; OTHER: no stage with a name begins."""

OTHER: Final = ""
FILTER: Final = "filter"
SCORE: Final = "score"
PICK: Final = "pick"
EXPLAIN: Final = "explain"
