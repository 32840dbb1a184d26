"""Questions to Neutron: which segments a network, a subnet or a port is on.

Separate from what scheduling makes of the answers, because this is Neutron's API and
nothing else: version 2.0, through a keystoneauth session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from gantt.client.transport import Transport
from gantt.errors import NotFound, Unavailable

T = TypeVar("T")

_BASE: Final = "/v2.0"
_SUBNETS: Final = "/subnets"


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
    segment_id: str | None = None


class _Link(Struct, frozen=True):
    rel: str = ""


class _OnePort(Struct, frozen=True):
    port: Port


class _OneSubnet(Struct, frozen=True):
    subnet: Subnet


class _Subnets(Struct, frozen=True):
    subnets: tuple[Subnet, ...]
    subnets_links: tuple[_Link, ...] = ()


class Neutron:
    """Safe for many threads. Every method raises Unavailable (no answer that can be
    used), SignInRefused, NotFound."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def port(self, uuid: str, request_id: str) -> Port:
        """Its network and addresses."""
        fields = [("fields", "network_id"), ("fields", "fixed_ips")]
        found = self._get(
            f"/ports/{quote(uuid, safe='')}", fields, _OnePort, request_id
        )
        return found.port

    def segments_of_subnet(self, uuid: str, request_id: str) -> frozenset[str]:
        """The segment that it is on; none: it is on any."""
        path, fields = f"/subnets/{quote(uuid, safe='')}", [("fields", "segment_id")]
        subnet = self._get(path, fields, _OneSubnet, request_id).subnet
        return frozenset(() if subnet.segment_id is None else (subnet.segment_id,))

    def segments_of_network(self, uuid: str, request_id: str) -> frozenset[str]:
        """Those of all its subnets; none: it is not routed."""
        found = (one.segment_id for one in self._subnets(uuid, request_id))
        return frozenset(one for one in found if one is not None)

    def _subnets(self, network: str, request_id: str) -> Iterator[Subnet]:
        """Page by page, if Neutron limits its answers."""
        asked = [("network_id", network), ("fields", "id"), ("fields", "segment_id")]
        query, last = asked, ""
        while True:
            page = self._get(_SUBNETS, query, _Subnets, request_id)
            yield from page.subnets
            is_whole = not any(one.rel == "next" for one in page.subnets_links)
            if is_whole or not page.subnets or page.subnets[-1].id == last:
                return
            last = page.subnets[-1].id
            query = [*asked, ("marker", last)]

    def _get(
        self, path: str, query: list[tuple[str, str]], kind: type[T], request_id: str
    ) -> T:
        headers = {"accept": "application/json"}
        if request_id:
            headers["x-openstack-request-id"] = request_id
        route = f"{_BASE}{path}?{urlencode(query)}"
        reply = self._transport.send("GET", route, headers=headers, body=None)
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
