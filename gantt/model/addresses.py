"""URLs as they may be shown: in logs, messages and answers.

Apart from those who open them, because a password may stand in any of several places,
and each of them would hide another one.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"
# Up to the last @, as a password may hold any character that the driver takes.
_USER = re.compile(r"(?<=://)(?P<user>[^/?#:@]*):.*(?=@)")
_SECRET = re.compile(
    r"(?i)(?<=[?&])(?P<name>[^=&#]*(?:pass|secret|token|key)[^=&#]*)=[^&#]*"
)


def without_secrets(url: str) -> str:
    """``url`` with its password hidden, and whatever a query calls one."""
    shown = _USER.sub(rf"\g<user>:{HIDDEN}", url)
    return _SECRET.sub(rf"\g<name>={HIDDEN}", shown)
