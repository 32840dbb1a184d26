"""URLs as they may be shown, in logs, messages and answers; addresses to listen on.

URLs are hidden here, not by the code that opens them, because a password may be in
several places, and each caller would hide a different one.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus

from gantt.errors import Refused

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


def split_listen(listen: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` or ``[V6]:PORT``. Raises Refused."""
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise Refused(f"Cannot listen on {listen!r}: it must look like 127.0.0.1:8778.")
    return host, int(port)
