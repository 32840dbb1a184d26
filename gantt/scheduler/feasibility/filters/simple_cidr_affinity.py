"""Require a host in the network of an address that a hint names."""

from __future__ import annotations

import ipaddress
from typing import Any

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

DEFAULT_PREFIX = "/24"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SimpleCIDRAffinityFilter(Filter):
    """The host's address is in the network of the hints ``build_near_host_ip`` and
    ``cidr`` (the length of its prefix, "/24" unless given). Raises Invalid if they
    do not form a network."""

    cacheable = Cacheable(needs=("factor:host_ip",), reads=("scheduler_hints",))
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hints = request.spec.scheduler_hints
        address = "".join(hints.get("build_near_host_ip", ()))
        if not address:
            return np.ones(len(hosts), np.bool_)
        network = _network(address, "".join(hints.get("cidr", (DEFAULT_PREFIX,))))
        codes, addresses = hosts.reported("host_ip")
        start = _start(network)
        return hosts.judge(
            codes,
            addresses,
            lambda ip: str(ip).startswith(start) and _is_in(ip, network),
        )


def _network(address: str, prefix: str) -> Network:
    slash = "/" if prefix and not prefix.startswith("/") else ""
    try:
        return ipaddress.ip_network(f"{address}{slash}{prefix}", strict=False)
    except ValueError as error:
        raise errors.Invalid(
            f"The hints build_near_host_ip={address!r} and cidr={prefix!r} make no "
            f"network: {error}. Give an address, and a prefix such as "
            f"{DEFAULT_PREFIX}."
        ) from None


def _start(network: Network) -> str:
    """The common prefix, as text, of addresses in ``network``: parsing is slow."""
    if network.version == 6:
        return ""
    parts = str(network.network_address).split(".")
    whole = network.prefixlen // 8
    return ".".join(parts[:whole]) + ("." if 0 < whole < 4 else "")


def _is_in(ip: Any, network: Network) -> bool:
    try:
        return ipaddress.ip_address(ip) in network
    except ValueError:
        return False
