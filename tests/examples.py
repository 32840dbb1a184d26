"""How many examples a property is tried on: few by default, more on a build server.

GANTT_EXAMPLES=5 makes every such test five times as long. What is written down as an
example of its own (``@example``, a table of cases) is tried in each run.
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("GANTT_EXAMPLES", "1"))


def examples(count: int) -> int:
    """``count``, as many times as the environment says."""
    return max(1, round(count * TIMES))
