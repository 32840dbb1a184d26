"""How the group of agents is kept: a frozen value, passed to agents and schedulers.

Separate from the code that talks to the service, which needs tooz.
"""

from __future__ import annotations

from msgspec import Struct


class CoordinationOptions(Struct, frozen=True):
    """``backend_url``: as tooz writes it; "": no group. ``group``: its name.
    ``heartbeat_interval``: in seconds, of agents and schedulers alike: a host without a
    heartbeat is down in at most two of them."""

    backend_url: str = ""
    group: str = "gantt-hosts"
    heartbeat_interval: int = 10

    @property
    def pause_s(self) -> float:
        """Between two heartbeats, and between two looks at the members: of three, two
        may be late before a membership ends."""
        return self.heartbeat_interval / 3
