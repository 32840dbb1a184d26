"""Callers that need no token: external schedulers' callers send none.

Only advice, and only from the networks of ``advice_from``. A request that came through
a proxy says so in a header, and needs a token: its address is not the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from gantt.api.access.auth import Authenticate, Environ
from gantt.api.call import Caller
from gantt.errors import Refused

_PATHS: Final = frozenset(
    (
        "/gantt/advise",
        "/scheduler/nova/external",
        "/scheduler/cinder/external",
        "/scheduler/manila/external",
    )
)
_SIGNED: Final = "HTTP_X_AUTH_TOKEN"
_FORWARDED: Final = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP")
CALLER: Final = Caller(user_id="advice", roles=("service",))


class Peers:
    """``networks``: addresses, or networks such as 10.0.0.0/24. Raises Refused."""

    def __init__(self, networks: Iterable[str]) -> None:
        try:
            self._networks = [ip_network(one.strip()) for one in networks]
        except ValueError as error:
            raise Refused(
                f"advice_from of [gantt] must list networks such as 10.0.0.0/24: "
                f"{error}."
            ) from None

    def include(self, environ: Environ) -> bool:
        """Whether the request needs no token."""
        if environ.get("PATH_INFO") not in _PATHS or _SIGNED in environ:
            return False
        if any(name in environ for name in _FORWARDED):
            return False
        try:
            address = ip_address(str(environ.get("REMOTE_ADDR", "")).strip("[]"))
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)

    def admitted(self, authenticate: Authenticate) -> Authenticate:
        """``authenticate``, for all other requests."""

        def identify(environ: Environ) -> Caller:
            return CALLER if self.include(environ) else authenticate(environ)

        return identify
