"""What pre-filters add to a request: each returns it with the addition."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from gantt.model.spec import Destination, RequestSpec


def require(spec: RequestSpec, *traits: str) -> RequestSpec:
    """``spec``, where the host itself must have ``traits``."""
    level = spec.request_level_params
    wanted = level.root_required.union(traits)
    return structs.replace(
        spec, request_level_params=structs.replace(level, root_required=wanted)
    )


def forbid(spec: RequestSpec, *traits: str) -> RequestSpec:
    """``spec``, where the host itself must not have ``traits``."""
    level = spec.request_level_params
    unwanted = level.root_forbidden.union(traits)
    return structs.replace(
        spec, request_level_params=structs.replace(level, root_forbidden=unwanted)
    )


def limit_to(spec: RequestSpec, aggregates: Iterable[str]) -> RequestSpec:
    """``spec``, where the host must be in at least one of ``aggregates``, too."""
    destination = spec.requested_destination or Destination()
    alternatives = (*destination.aggregates, frozenset(aggregates))
    return structs.replace(
        spec,
        requested_destination=structs.replace(destination, aggregates=alternatives),
    )


def keep_out_of(spec: RequestSpec, aggregates: Iterable[str]) -> RequestSpec:
    """``spec``, where the host must be in none of ``aggregates``."""
    destination = spec.requested_destination or Destination()
    unwanted = destination.forbidden_aggregates.union(aggregates)
    return structs.replace(
        spec,
        requested_destination=structs.replace(
            destination, forbidden_aggregates=unwanted
        ),
    )
