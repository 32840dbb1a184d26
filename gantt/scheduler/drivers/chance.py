"""The driver ``chance``: any host that is up and has room, each as likely."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.filters.compute import ComputeFilter
from gantt.scheduler.policy import Policy

_ANY = 2**31


class ChanceDriver(FilterDriver):
    """One filter, no weigher, and the first of all in any order."""

    name: ClassVar[str] = "chance"

    def __init__(self, policy: Policy) -> None:
        options = replace(policy.options, host_subset_size=_ANY)
        super().__init__(Policy(options, (ComputeFilter(),), ()))
