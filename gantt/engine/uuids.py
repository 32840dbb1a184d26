"""New uuids, for the rows and batches of this process."""

from __future__ import annotations

from os import urandom

_VARIANTS = "89ab"


def new_uuid() -> str:
    """A random uuid, of version 4; ``str(uuid.uuid4())`` makes three calls more."""
    text = urandom(16).hex()
    variant = _VARIANTS[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"
