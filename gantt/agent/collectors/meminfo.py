"""Amounts of memory as the kernel tells them, of the whole machine or of a node."""

from __future__ import annotations

from typing import Final

PATH: Final = "/proc/meminfo"
KB_PER_MB: Final = 1024


def meminfo(text: str) -> dict[str, int]:
    """Amounts in kB (counts, of some) by name, of the whole machine or of a node."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            # A node's file has "Node 0 MemTotal:".
            found[name.split()[-1]] = int(words[0])
    return found
