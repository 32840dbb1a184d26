"""What a program of Gantt loads, seen in a process of its own."""

from __future__ import annotations

import sys
from typing import Final

from tests.programs import captured

HEAVY: Final = frozenset(
    {
        "numpy",
        "sqlalchemy",
        "gantt.engine",
        "gantt.scheduler",
        "gantt.placement",
        "gantt.state",
        "gantt.store",
    }
)
"""Who asks a service over HTTP needs none of these."""
_SHOWN: Final = "\nimport sys\nprint(chr(10), *sys.modules, file=sys.stderr)\n"


def modules_after(code: str, *words: str) -> frozenset[str]:
    """Names of the modules that are loaded once ``code`` has run; ``words``: its
    arguments."""
    ended = captured([sys.executable, "-c", code + _SHOWN, *words], timeout=120)
    assert ended.returncode == 0, ended.stderr
    found = frozenset(ended.stderr.splitlines()[-1].split())
    assert {"sys", "gantt"} <= found, ended.stderr
    return found


def heavy(modules: frozenset[str]) -> list[str]:
    """Those of ``modules`` that are heavy, or lie below one."""
    return sorted(
        one
        for one in modules
        if one in HEAVY or any(one.startswith(f"{name}.") for name in HEAVY)
    )
