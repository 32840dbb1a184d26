"""One request to the service and its reply, or the error that the reply means.

Separate from the client's methods because microversions, JSON bodies and the bounded
retries after a lost race are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from gantt import errors
from gantt.client.refusals import refusal
from gantt.client.transport import Reply, Transport

NEWEST = "1.39"
MAX_TRIES = 10

T = TypeVar("T")


class Exchange:
    """Speaks JSON at a microversion over a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = NEWEST,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Reply:
        """The reply to a successful request. Raises the refusal otherwise."""
        sent = {
            **headers,
            "accept": "application/json",
            "openstack-api-version": f"placement {version}",
        }
        data: bytes | None = None
        if body is not None:
            sent["content-type"] = "application/json"
            try:
                data = msgspec.json.encode(body)
            except (TypeError, ValueError, OverflowError) as error:
                raise errors.Invalid(
                    f"{method} {path} cannot be sent as JSON: {error}."
                ) from error
        reply = self._transport.send(method, path, headers=sent, body=data)
        if reply.status >= 300:
            raise refusal(reply, request=f"{method} {path}")
        return reply

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()


def until_settled(attempt: Callable[[], T]) -> T:
    """Repeat ``attempt``, which reads a generation and writes at it, after lost races.

    Raises the last ConcurrentUpdate after MAX_TRIES.
    """
    for _ in range(MAX_TRIES - 1):
        try:
            return attempt()
        except errors.ConcurrentUpdate:
            continue
    return attempt()
