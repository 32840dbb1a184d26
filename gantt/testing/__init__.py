"""A conformance kit for filters, weighers and drivers of other packages.

Authors run it on their own class under any test runner (docs/how-to/plugins.md);
nothing of the service imports it.
"""

from __future__ import annotations

from gantt.testing.checks import Tried, Unfit, check_filter, check_weigher
from gantt.testing.driver_check import check_driver
from gantt.testing.worlds import Values, World

__all__ = [
    "Tried",
    "Unfit",
    "Values",
    "World",
    "check_driver",
    "check_filter",
    "check_weigher",
]
