"""Limits and patterns of the names and numbers in the books.

Source: the Placement wire contract (integers are signed 32 bit, names are ASCII upper
case). Separate because rules and doors must agree on them.
"""

from __future__ import annotations

import re
import uuid as _uuid

MAX_INT = 2_147_483_647
MAX_RATIO = 3.40282e38
MAX_NAME = 255
MAX_PROVIDER_NAME = 200

FIRST_CUSTOM_CLASS_ID = 10_000
SHARES_VIA_AGGREGATE = "MISC_SHARES_VIA_AGGREGATE"
UNKNOWN_CONSUMER_TYPE = "unknown"

CUSTOM_NAME = re.compile(r"\ACUSTOM_[A-Z0-9_]+\Z")
is_canonical = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
"""Whether a text is a dashed lower-case uuid, as nearly all are."""


def is_custom_name(name: str) -> bool:
    """Whether ``name`` may be created as a custom trait or resource class."""
    return len(name) <= MAX_NAME and CUSTOM_NAME.match(name) is not None


def canonical_uuid(text: str) -> str | None:
    """``text`` as a dashed lower-case uuid, or None when it is none.

    Tolerates what OpenStack calls uuid-like: missing dashes, upper case, braces and
    the ``urn:uuid:`` prefix.
    """
    try:
        # To read them would cost ten times as much.
        return text if is_canonical(text) else str(_uuid.UUID(text))
    except (ValueError, AttributeError, TypeError):
        return None
