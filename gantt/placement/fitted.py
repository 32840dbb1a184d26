"""What an instance needs of one host's cells and devices, and whether they are left.

Asked while hosts are picked and again when the claim is planned, so that both look at
the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gantt.model.topology import Fit, Lack, Wanted
from gantt.state.host_table import Hosts
from gantt.state.promises import Promises
from gantt.topology.pending import Pending

Providers = Mapping[str, tuple[str, ...]]


def pending_on(
    hosts: Hosts,
    row: int,
    wanted: Wanted,
    providers: Providers,
    *,
    packs: bool,
) -> Pending:
    """``wanted`` as the host at ``row`` is asked for it, with its ratios."""
    if wanted.cells:
        wanted = replace(
            wanted,
            cpu_ratio=float(hosts.cpu_ratio[row]),
            ram_ratio=float(hosts.ram_ratio[row]),
        )
    return Pending(wanted, providers_of(providers, wanted), packs)


def providers_of(mappings: Providers, wanted: Wanted) -> dict[str, tuple[str, ...]]:
    """Of a candidate's mappings those of devices."""
    suffixes = [
        suffix for one in wanted.devices if one.is_of_flavor for suffix in one.suffixes
    ]
    return {name: tuple(mappings[name]) for name in suffixes if name in mappings}


class Overlay:
    """Promises of hosts while one request or one command is worked on: what it takes
    there is in copies, and nowhere else."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._copies: dict[int, Promises] = {}

    def fit(
        self, row: int, pending: Pending, claim_id: int | None = None
    ) -> Fit | Lack:
        """As ``Promises.fit``."""
        found = self._copies.get(row) or self._hosts.promises[row]
        return found.fit(pending, claim_id)

    def put(self, row: int, claim_id: int, pending: Pending) -> None:
        """An instance of the command is on the host at ``row``."""
        self._own(row).put(claim_id, pending)

    def remove(self, row: int, claim_id: int) -> None:
        """A claim that the command replaces."""
        self._own(row).remove(claim_id)

    def _own(self, row: int) -> Promises:
        if row not in self._copies:
            self._copies[row] = self._hosts.promises[row].copy()
        return self._copies[row]
