"""Which hosts list an instance, or have it on its way: an index, so that no question
walks over all hosts.

Separate from the hosts' columns because only the audit asks it.
"""

from __future__ import annotations

from typing import Any


class NamedBy:
    """``rows``: what lists under ``key`` of stats name -> the rows of their hosts."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.rows: dict[str, tuple[int, ...]] = {}

    def change(self, row: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        """What the host at ``row`` reported is ``new`` and was ``old``."""
        before, after = old.get(self.key, ()), new.get(self.key, ())
        if before == after:
            return
        was, now = set(before), set(after)
        for name in was - now:
            others = tuple(one for one in self.rows[name] if one != row)
            if others:
                self.rows[name] = others
            else:
                del self.rows[name]
        for name in now - was:
            self.rows[name] = (*self.rows.get(name, ()), row)
