"""What hosts hold of what is copied to them before something starts: images, model
weights, snapshots.

An index by artifact, because hosts hold few of all that there are. What hosts report
has sizes; what is promised a host, or runs there, is counted, and goes with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

Counts = dict[str, dict[Any, int]]
"""Artifact -> what has it -> how often, or how many bytes."""


class Holdings:
    """``of``: artifact -> row of a host that reports it -> bytes."""

    key: Final = "holds"

    def __init__(self) -> None:
        self.of: Counts = {}

    def change(self, row: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        """What the host at ``row`` reported is ``new`` and was ``old``."""
        before, after = old.get(self.key) or {}, new.get(self.key) or {}
        if before == after:
            return
        for name in before.keys() - after.keys():
            _drop(self.of, name, row)
        for name, size in after.items():
            self.of.setdefault(name, {})[row] = size


def count(users: Counts, artifacts: Iterable[str], where: Hashable, times: int) -> None:
    """One more thing (1) that needs ``artifacts`` is there, or one less (-1)."""
    for name in artifacts:
        left = users.get(name, {}).get(where, 0) + times
        if left:
            users.setdefault(name, {})[where] = left
        else:
            _drop(users, name, where)


def _drop(counts: Counts, name: str, where: Hashable) -> None:
    del counts[name][where]
    if not counts[name]:
        del counts[name]
