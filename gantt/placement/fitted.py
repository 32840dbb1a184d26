"""What an instance needs of one host's cells and devices.

Asked while hosts are picked and again when the claim is planned, so that both look at
the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gantt.model.topology import Wanted
from gantt.state.host_table import Hosts
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
