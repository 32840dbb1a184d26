"""What a host can run, as triples of architecture, hypervisor type and vm mode, and
what images call these."""

from __future__ import annotations

from typing import Any

PROPERTIES = ("hw_architecture", "img_hv_type", "hw_vm_mode")
"""Of an image, by place in a host's triple."""
I686 = "i686"
# Other names for the same thing, by place in a host's triple.
ALIASES: tuple[dict[str, str], ...] = (
    {
        **dict.fromkeys(("i386", "i486", "i586", "x86_32", "x86_32p"), I686),
        "amd64": "x86_64",
    },
    {"xapi": "xen"},
    {"pv": "xen", "hv": "hvm", "baremetal": "hvm"},
)


def canonical(place: int, name: Any) -> str:
    """The canonical name at ``place`` of a triple."""
    text = str(name).lower()
    return ALIASES[place].get(text, text)


def supports(triples: Any, wanted: set[str]) -> bool:
    """Whether one of a host's triples has all that is ``wanted``."""
    return isinstance(triples, list) and any(
        wanted <= {canonical(place, name) for place, name in enumerate(triple[:3])}
        for triple in triples
        if isinstance(triple, list)
    )
