"""Requests that name hosts in ways which exclude each other.

Refused before any host is checked, from the request alone: an empty answer would
suggest a lack of capacity. Separate from the filters, which judge hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gantt.errors import Invalid
from gantt.model.spec import Destination, RequestSpec


def check(spec: RequestSpec) -> None:
    """What no filter is asked for. Raises Invalid with the contradiction."""
    if spec.ignore_hosts:
        _check_ignored(spec)
    if spec.requested_destination is not None:
        _check_destination(spec.requested_destination, spec)


def check_hints(spec: RequestSpec, filter_names: Collection[str]) -> None:
    """``filter_names``: the filters that the request goes through. ``same_host`` and
    ``different_host`` are consistent as long as an instance of the first is not in the
    second. Raises Invalid."""
    near = spec.scheduler_hints.get("same_host")
    far = spec.scheduler_hints.get("different_host")
    if not near or not far or not {*near} <= {*far}:
        return
    if "SameHostFilter" in filter_names and "DifferentHostFilter" in filter_names:
        raise Invalid(
            "the hint same_host asks for the host of one of "
            f"{_list(dict.fromkeys(near))}, and different_host forbids the hosts of "
            "all of these: name an instance in same_host that is not in "
            "different_host, or leave one of the hints out"
        )


def _check_ignored(spec: RequestSpec) -> None:
    ignored = {name.lower() for name in spec.ignore_hosts}
    forced = {name.lower() for name in spec.force_hosts}
    if forced and forced <= ignored:
        raise Invalid(
            f"all of force_hosts ({_list(spec.force_hosts)}) are in ignore_hosts, too: "
            "take them out of one of the two"
        )
    destination = spec.requested_destination
    if destination and destination.host and destination.host.lower() in ignored:
        raise Invalid(
            f"the requested host {destination.host} is in ignore_hosts, too: take it "
            "out of one of the two"
        )


def _check_destination(destination: Destination, spec: RequestSpec) -> None:
    forced = {name.lower() for name in spec.force_hosts}
    if forced and destination.host and destination.host.lower() not in forced:
        raise Invalid(
            f"the request asks for host {destination.host} and forces "
            f"{_list(spec.force_hosts)}: no host is both; leave one of them out"
        )
    if not all(destination.aggregates):
        raise Invalid(
            "requested_destination.aggregates has an empty set, and no host is in one "
            "of no aggregates: leave it out"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
