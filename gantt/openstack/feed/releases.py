"""Releases of Nova by the versions of its services.

Their numbers are facts of Nova (``SERVICE_VERSION_ALIASES`` of nova/objects/service.py
in 34.0.0); the tables that the feed reads have their columns in all releases below.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

LOG = logging.getLogger(__name__)

RELEASES: Final[Mapping[int, str]] = {
    52: "Victoria",
    54: "Wallaby",
    57: "Xena",
    61: "Yoga",
    64: "Zed",
    66: "Antelope to Caracal",
    67: "Dalmatian",
    68: "Epoxy",
    70: "Flamingo",
    72: "Gazpacho",
    74: "2026.2",
}
OLDEST: Final = 66
NEWEST: Final = 74


def release_of(version: int) -> str:
    """The release that a service of this version is of, as text."""
    for number in sorted(RELEASES):
        if version <= number:
            return f"{version} ({RELEASES[number]})"
    return f"{version} (newer than {RELEASES[NEWEST]})"


def check_versions(versions: Mapping[str, frozenset[int]]) -> tuple[str, ...]:
    """Log a warning, and answer it, for each cell (name -> versions of its computes)
    that has computes of a release out of range."""
    found = []
    for name, mine in sorted(versions.items()):
        odd = sorted(one for one in mine if not OLDEST <= one <= NEWEST)
        if odd:
            text = (
                f"cell {name} has nova-compute services of version "
                f"{', '.join(map(release_of, odd))}; the feed is made for "
                f"{release_of(OLDEST)} to {release_of(NEWEST)}"
            )
            LOG.warning("%s", text)
            found.append(text)
    return tuple(found)
