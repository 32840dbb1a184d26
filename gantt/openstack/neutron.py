"""Questions to Neutron: which segments a network, a subnet or a port is on.

Separate from what scheduling makes of the answers, because this is Neutron's API and
nothing else: version 2.0, through a keystoneauth session.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta, Struct

from gantt.client.transport import Reply, Transport
from gantt.errors import AnswerTooLarge, NotFound, Unavailable

LOG = logging.getLogger(__name__)
T = TypeVar("T")

_BASE: Final = "/v2.0"
_SUBNETS: Final = "/subnets"
# Before Neutron is asked again.
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0


class FixedAddress(Struct, frozen=True):
    """An address of a port."""

    subnet_id: str | None = None


class Port(Struct, frozen=True):
    """``fixed_ips`` is empty until addresses are allocated."""

    network_id: str | None = None
    fixed_ips: tuple[FixedAddress, ...] = ()


class Subnet(Struct, frozen=True):
    """``segment_id``: unset or null where the network is not routed."""

    id: str = ""
    segment_id: Annotated[str, Meta(max_length=255)] | None = None


class _Link(Struct, frozen=True):
    rel: str = ""


class _OnePort(Struct, frozen=True):
    port: Port


class _OneSubnet(Struct, frozen=True):
    subnet: Subnet


class _Subnets(Struct, frozen=True):
    subnets: tuple[Subnet, ...]
    subnets_links: tuple[_Link, ...] = ()


class Asking(Struct, frozen=True):
    """On whose behalf. ``begin`` is called before each question; what it raises is
    raised."""

    request_id: str
    begin: Callable[[], None]


class Neutron:
    """Safe for many threads. Every method raises Unavailable (no answer that can be
    used), SignInRefused, NotFound. ``retries``: further attempts where there is no
    answer."""

    def __init__(
        self,
        transport: Transport,
        retries: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = transport
        self._retries = retries
        self._sleep = sleep

    def port(self, uuid: str, asking: Asking) -> Port:
        """Its network and addresses."""
        fields = [("fields", "network_id"), ("fields", "fixed_ips")]
        found = self._get(f"/ports/{quote(uuid, safe='')}", fields, _OnePort, asking)
        return found.port

    def segments_of_subnet(self, uuid: str, asking: Asking) -> frozenset[str]:
        """The segment that it is on; none: it is on any."""
        path, fields = f"/subnets/{quote(uuid, safe='')}", [("fields", "segment_id")]
        subnet = self._get(path, fields, _OneSubnet, asking).subnet
        return frozenset(() if subnet.segment_id is None else (subnet.segment_id,))

    def segments_of_network(self, uuid: str, asking: Asking) -> frozenset[str]:
        """Those of all its subnets; none: it is not routed."""
        found = (one.segment_id for one in self._subnets(uuid, asking))
        return frozenset(one for one in found if one is not None)

    def _subnets(self, network: str, asking: Asking) -> Iterator[Subnet]:
        """Page by page, if Neutron limits its answers."""
        asked = [("network_id", network), ("fields", "id"), ("fields", "segment_id")]
        query, last = asked, ""
        while True:
            page = self._get(_SUBNETS, query, _Subnets, asking)
            yield from page.subnets
            is_whole = not any(one.rel == "next" for one in page.subnets_links)
            if is_whole or not page.subnets or page.subnets[-1].id == last:
                return
            last = page.subnets[-1].id
            query = [*asked, ("marker", last)]

    def _get(
        self, path: str, query: list[tuple[str, str]], kind: type[T], asking: Asking
    ) -> T:
        route = f"{_BASE}{path}?{urlencode(query)}"
        reply = self._reply(route, asking)
        if reply.status == 404 and path != _SUBNETS:
            raise NotFound(f"Neutron does not know {path.lstrip('/')}.")
        if reply.status != 200:
            raise Unavailable(f"Neutron answered {reply.status} to GET {route}.")
        try:
            return msgspec.json.decode(reply.body, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Unavailable(
                f"Neutron's answer to GET {route} cannot be read: {error}."
            ) from None

    def _reply(self, route: str, asking: Asking) -> Reply:
        headers = {"accept": "application/json"}
        if asking.request_id:
            headers["x-openstack-request-id"] = asking.request_id
        for number in range(self._retries):
            asking.begin()
            try:
                return self._transport.send("GET", route, headers=headers, body=None)
            except AnswerTooLarge:
                raise
            except Unavailable as error:
                LOG.debug("%s: asked again: %s", asking.request_id, error)
            self._sleep(min(_FIRST_PAUSE_S * 2.0**number, _LONGEST_PAUSE_S))
        asking.begin()
        return self._transport.send("GET", route, headers=headers, body=None)
