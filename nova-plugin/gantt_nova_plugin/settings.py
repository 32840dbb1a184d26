"""What the plug-in is told: the values of `[gantt]`, checked.

Apart from `options`, which reads them with oslo.config, so that everything else needs
the standard library alone.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

OBSERVE = "observe"
ADVISE = "advise"
DECIDE = "decide"
MODES = (OBSERVE, ADVISE, DECIDE)


class InvalidSettings(Exception):
    """What is wrong with `[gantt]`, and what to write instead; names no secret."""


class Settings(NamedTuple):
    """One reading of `[gantt]`; `options` has the meaning of each."""

    url: str
    mode: str = OBSERVE
    token: str | None = None
    cafile: str | None = None
    timeout: float = 0.5
    request_delay_limit: float = 1.0
    breaker_failures: int = 3
    breaker_seconds: float = 30.0
    answer_size_limit: int = 4 * 1024 * 1024
    weight_multiplier: float = 1e12

    @property
    def address(self) -> Address:
        """Where `url` points."""
        return parse_url(self.url)


class Address(NamedTuple):
    """Parts of a URL, as a connection needs them."""

    is_tls: bool
    host: str
    port: int
    path: str


def parse_url(url: str) -> Address:
    """The parts of ``http[s]://HOST[:PORT][/PATH]``; `InvalidSettings` otherwise."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if (
        host is None
        or parts.scheme not in ("http", "https")
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or not _is_plain(url)
    ):
        raise InvalidSettings("url must have the form http[s]://HOST[:PORT][/PATH]")
    is_tls = parts.scheme == "https"
    path = parts.path.rstrip("/")
    return Address(is_tls, host, port or (443 if is_tls else 80), path)


def check(settings: Settings) -> Settings:
    """The same settings, if they can be worked with; `InvalidSettings` otherwise."""
    parse_url(settings.url)
    if settings.mode not in MODES:
        raise InvalidSettings("mode must be one of: " + ", ".join(MODES))
    if settings.token and not _is_plain(settings.token):
        raise InvalidSettings("token must be printable ASCII without spaces")
    return settings


def _is_plain(text: str) -> bool:
    return all("!" <= letter <= "~" for letter in text)
