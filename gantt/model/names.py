"""Limits and patterns of the names and numbers in the books.

Source: the Placement wire contract (integers are signed 32 bit, names are ASCII upper
case). Separate because rules and doors must agree on them.
"""

from __future__ import annotations

import re

MAX_INT = 2_147_483_647
MAX_RATIO = 3.40282e38
MAX_NAME = 255
MAX_PROVIDER_NAME = 200
_LINE = 100

FIRST_CUSTOM_CLASS_ID = 10_000
SHARES_VIA_AGGREGATE = "MISC_SHARES_VIA_AGGREGATE"
UNKNOWN_CONSUMER_TYPE = "unknown"

CUSTOM_NAME = re.compile(r"\ACUSTOM_[A-Z0-9_]+\Z")
is_canonical = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
"""Whether a text is a dashed lower-case uuid, as nearly all are."""
_is_compact = re.compile(r"[0-9a-f]{32}").fullmatch


def is_custom_name(name: str) -> bool:
    """Whether ``name`` may be created as a custom trait or resource class."""
    return len(name) <= MAX_NAME and CUSTOM_NAME.match(name) is not None


def canonical_uuid(text: str) -> str | None:
    """``text`` as a dashed lower-case uuid, or None when it is none.

    What OpenStack accepts as one: dashes, case, braces and the prefixes ``urn:`` and
    ``uuid:`` do not matter.
    """
    if is_canonical(text):
        return text
    bare = text.replace("urn:", "").replace("uuid:", "").strip("{}")
    bare = bare.replace("-", "").lower()
    if _is_compact(bare) is None:
        return None
    return f"{bare[:8]}-{bare[8:12]}-{bare[12:16]}-{bare[16:20]}-{bare[20:]}"


def canonical(text: str) -> str:
    """``text`` as a dashed lower-case uuid, or as it is when it is none."""
    return canonical_uuid(text) or text


def spellings(text: str) -> tuple[str, ...]:
    """Under which names ``text`` may be in the books, where Placement's wire stores
    some uuids as they were written: as it is, and canonical."""
    found = canonical(text)
    return (text,) if found == text else (text, found)


def on_one_line(text: str) -> str:
    """``text``, cut where it would not fit a line of a screen."""
    return text if len(text) <= _LINE else f"{text[: _LINE - 3]}..."
