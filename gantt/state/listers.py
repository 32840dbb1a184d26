"""Which hosts list an instance: an index, so that no question walks over all hosts.

Separate from the hosts' columns because only the audit asks it.
"""

from __future__ import annotations

from typing import Any

from gantt.state.reports import LISTED


class Listers:
    """``rows``: instance -> rows of the hosts whose agents listed it last."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, ...]] = {}

    def change(self, row: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        """What the host at ``row`` reported is ``new`` and was ``old``."""
        before, after = old.get(LISTED, ()), new.get(LISTED, ())
        if before == after:
            return
        was, now = set(before), set(after)
        for instance in was - now:
            others = tuple(one for one in self.rows[instance] if one != row)
            if others:
                self.rows[instance] = others
            else:
                del self.rows[instance]
        for instance in now - was:
            self.rows[instance] = (*self.rows.get(instance, ()), row)
