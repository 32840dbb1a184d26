"""Runs filters and weighers written for Nova, unchanged.

They look at one host at a time, as objects with Nova's names; ours look at all hosts at
once. Kept apart so that nothing else knows of the difference.
"""

from __future__ import annotations

from typing import Any

from gantt.scheduler.contract import Filter, Weigher


class LegacyFilter(Filter):
    """A class with ``host_passes(host_state, spec)``."""

    elementwise = False
    is_costly = True

    def __init__(self, filter_: Any) -> None:
        self._filter = filter_


class LegacyWeigher(Weigher):
    """A class with ``_weigh_object(host_state, spec)``."""

    elementwise = False

    def __init__(self, weigher: Any) -> None:
        self._weigher = weigher
