"""Where a long question lets others write. What asks it knows about locks and clocks,
and what may have changed then; the question does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Pause: TypeAlias = Callable[[], None]


def never() -> None:
    """Do not let others write in between."""
