"""Tokens that keystonemiddleware has confirmed a moment ago.

It takes longer for a token in its own cache than all the rest of a look-up, and it may
wait for memcached or Keystone. A compute sends its requests in bursts, with one token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from gantt.api.access.auth import CONFIRMED, Environ, digest_of, keystone
from gantt.api.call import Caller
from gantt.conf import AuthOptions

# What a token may bear that makes it valid for some requests or connections only.
_RESTRICTIONS: Final = ("application_credential", "oauth2_credential", "bind")
_NO_RESTRICTIONS: Final = ()
# keystonemiddleware takes the last where the first is missing.
_TOKENS: Final = ("HTTP_X_AUTH_TOKEN", "HTTP_X_SERVICE_TOKEN", "HTTP_X_STORAGE_TOKEN")
# Headers of a token, of the verdict about it, and where what it bears is.
_CONFIRMED: Final = (
    ("HTTP_X_AUTH_TOKEN", "HTTP_X_IDENTITY_STATUS", "keystone.token_info"),
    ("HTTP_X_SERVICE_TOKEN", "HTTP_X_SERVICE_IDENTITY_STATUS", "keystone.token_info"),
)
MOST_KNOWN: Final = 65_536


class ConfirmedTokens:
    """``clock`` and ``monotonic`` give seconds."""

    def __init__(
        self,
        options: AuthOptions,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._for_s = options.confirmed_tokens, options.confirmed_tokens_s
        self._clock = clock
        self._monotonic = monotonic
        # By digest: until when, and whose.
        self._callers: dict[bytes, tuple[float, Caller]] = {}
        # By digest: until when it is valid, unless it is revoked.
        self._known: dict[bytes, float] = {}

    def recognize(self, environ: dict[str, Any]) -> bool:
        """Whether the token of a request was confirmed; if so, the strategy
        ``keystone`` takes its caller from the environment."""
        token = _token(environ)
        known = self._callers.get(digest_of(token)) if token else None
        if known is None or self._monotonic() >= known[0]:
            return False
        environ[CONFIRMED] = known[1]
        return True

    def is_known(self, environ: Environ) -> bool:
        """Whether the token of a request was ever confirmed, and should be valid
        still; or it has none, which is answered at once."""
        sent = [environ.get(name) for name in _TOKENS]
        tokens = [str(one) for one in sent if one]
        now = self._clock()
        return all(self._known.get(digest_of(one), 0.0) > now for one in tokens)

    def forget(self, environ: Environ) -> None:
        """Keystone did not confirm the token of a request."""
        for name in _TOKENS:
            if sent := environ.get(name):
                self._known.pop(digest_of(str(sent)), None)

    def _know(self, environ: Environ) -> None:
        for name, status, info in _CONFIRMED:
            sent = environ.get(name)
            if not sent or environ.get(status) != "Confirmed":
                continue
            digest = digest_of(str(sent))
            self._known.pop(digest, None)
            self._known[digest] = _valid_until(environ.get(info), _NO_RESTRICTIONS)
            while len(self._known) > MOST_KNOWN:
                self._known.pop(next(iter(self._known)), None)

    def remember(self, environ: Environ) -> None:
        """Take in a request as keystonemiddleware passes it on."""
        self._know(environ)
        token = _token(environ)
        if not token or environ.get("HTTP_X_IDENTITY_STATUS") != "Confirmed":
            return
        valid_s = _valid_until(environ.get("keystone.token_info")) - self._clock()
        if valid_s <= 0 or not self._most:
            return
        if len(self._callers) >= self._most:
            self._callers.clear()
        until = self._monotonic() + min(valid_s, self._for_s)
        self._callers[digest_of(token)] = until, keystone(environ)

    def counts(self) -> dict[str, float]:
        """How many are remembered, and the limit; for metrics."""
        return {
            "confirmed_tokens": len(self._callers),
            "confirmed_tokens_limit": self._most,
            "known_tokens": len(self._known),
            "known_tokens_limit": MOST_KNOWN,
        }


def _token(environ: Environ) -> str:
    """The token of a request without a service token, which may prolong another."""
    if "HTTP_X_SERVICE_TOKEN" in environ:
        return ""
    return str(environ.get("HTTP_X_AUTH_TOKEN", ""))


def _valid_until(info: object, restrictions: tuple[str, ...] = _RESTRICTIONS) -> float:
    """Seconds since the epoch; 0 for a token that is restricted or not understood."""
    token = info.get("token") if isinstance(info, Mapping) else None
    if not isinstance(token, Mapping) or any(name in token for name in restrictions):
        return 0.0
    try:
        expires_at = datetime.fromisoformat(str(token.get("expires_at")))
    except ValueError:
        return 0.0
    return expires_at.timestamp() if expires_at.tzinfo else 0.0
