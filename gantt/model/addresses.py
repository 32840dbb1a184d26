"""URLs as they may be shown: in logs, messages and answers.

Separate from the code that opens them because a password may be in several places, and
each caller would hide a different one.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus

HIDDEN: Final = "***"
# Up to the last @, as a password may hold any character that the driver takes.
_USER = re.compile(r"(?<=://)(?P<user>[^/?#:@]*):.*(?=@)")
# A URL that lacks slashes or its scheme is shown as well, in the refusal of it.
_MISTYPED = re.compile(r"^(?P<user>(?:[\w.+-]+:?/{1,2}|[\w.+-]+:)?[^/?#:@]*):.*(?=@)")
# A value ends with the next parameter: SQLAlchemy knows no fragments.
_PARAMETER = re.compile(r"(?<=[?&])(?P<name>[^=&]*)=[^&]*")
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|key|credential|odbc_connect")


def without_secrets(url: str) -> str:
    """``url`` with its password hidden, and whatever a query calls one."""
    user = _USER if "://" in url else _MISTYPED
    return _PARAMETER.sub(_hidden, user.sub(rf"\g<user>:{HIDDEN}", url))


def _hidden(parameter: re.Match[str]) -> str:
    name = parameter["name"]
    is_secret = _SECRET.search(unquote_plus(name)) is not None
    return f"{name}={HIDDEN}" if is_secret else parameter[0]
