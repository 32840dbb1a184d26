"""Requests that name hosts in ways which exclude each other.

Told before any host is looked at, by what the request says: an empty answer would send
people to look for room. Apart from the filters, which judge hosts one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from gantt.errors import Invalid
from gantt.model.spec import Destination, RequestSpec
from gantt.scheduler.options import SchedulerOptions


def check(spec: RequestSpec, options: SchedulerOptions) -> None:
    """Raises Invalid with the contradiction."""
    if spec.ignore_hosts:
        _check_ignored(spec)
    if spec.requested_destination is not None:
        _check_destination(spec.requested_destination, spec)
    if "same_host" in spec.scheduler_hints and "different_host" in spec.scheduler_hints:
        _check_neighbours(spec, options)


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


def _check_neighbours(spec: RequestSpec, options: SchedulerOptions) -> None:
    """Both hints count only where both filters are enabled."""
    if not {"SameHostFilter", "DifferentHostFilter"} <= {*options.enabled_filters}:
        return
    hints = spec.scheduler_hints
    both = {*hints["same_host"]} & {*hints["different_host"]}
    if both:
        raise Invalid(
            f"the hints same_host and different_host both name {_list(sorted(both))}: "
            "take each out of one of the two"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
