"""Queries and commands in Placement's wire format: query strings and bodies.

Separate from the client because the mirror image of these functions is the server's
parser, and the two are tested against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET

from gantt import errors
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.requests import (
    CandidateRequest,
    Labels,
    ProviderQuery,
    RequestGroup,
    TraitQuery,
    UsageQuery,
)
from gantt.model.spec import ScheduleRequest

Pairs = list[tuple[str, str]]


def path(*parts: str) -> str:
    """A path of the service; every part is escaped, slashes in it too."""
    return "".join("/" + quote(part, safe="") for part in parts)


def query(route: str, pairs: Pairs) -> str:
    """``route`` with a query string; commas and colons stay readable."""
    return f"{route}?{urlencode(pairs, safe=',:!')}" if pairs else route


def provider_pairs(wanted: ProviderQuery) -> Pairs:
    """The parameters of GET /resource_providers."""
    pairs = given({"name": wanted.name, "uuid": wanted.uuid, "in_tree": wanted.in_tree})
    if wanted.resources:
        pairs.append(("resources", _amounts(wanted.resources)))
    pairs += _traits("required", wanted.traits)
    pairs += _aggregates("member_of", wanted.member_of)
    return pairs


def trait_pairs(wanted: TraitQuery) -> Pairs:
    """The parameters of GET /traits; names win over a prefix: there is one key."""
    pairs: Pairs = []
    if wanted.names is not None:
        pairs.append(("name", "in:" + ",".join(sorted(wanted.names))))
    elif wanted.prefix:
        pairs.append(("name", "startswith:" + wanted.prefix))
    if wanted.is_associated is not None:
        pairs.append(("associated", "true" if wanted.is_associated else "false"))
    return pairs


def usage_pairs(wanted: UsageQuery) -> Pairs:
    """The parameters of GET /usages; without a type all types are summed or listed."""
    kind = wanted.consumer_type
    if kind is None and not wanted.by_type:
        kind = "all"
    return given(
        {
            "project_id": wanted.project_id,
            "user_id": wanted.user_id,
            "consumer_type": kind,
        }
    )


def candidate_pairs(request: CandidateRequest) -> Pairs:
    """The parameters of GET /allocation_candidates.

    ``generation_limit``, ``breadth_first`` and ``randomize`` are options of the service
    and do not travel. Raises Invalid for requests that the wire cannot express.
    """
    if not request.nested:
        raise errors.Invalid(
            "nested=False is not possible over HTTP: the newest microversion always "
            "returns whole trees. Leave it out, or use the database in process."
        )
    pairs: Pairs = []
    for group in request.groups:
        pairs += _group(group)
    if sum(bool(group.suffix) for group in request.groups) > 1 or request.isolate:
        pairs.append(("group_policy", "isolate" if request.isolate else "none"))
    if request.limit is not None:
        pairs.append(("limit", str(request.limit)))
    if request.root_traits:
        pairs.append(("root_required", _root_traits(request.root_traits)))
    for suffixes in request.same_subtrees:
        pairs.append(("same_subtree", ",".join(sorted(suffixes))))
    return pairs


def given(scalars: Mapping[str, object]) -> Pairs:
    return [(key, str(value)) for key, value in scalars.items() if value is not None]


def schedule_body(request: ScheduleRequest) -> dict[str, Any]:
    """The body of POST /gantt/select, in the name of the request's context."""
    # Services of the release before do not know it.
    more = {"replaces": True} if request.replaces else {}
    return {
        **more,
        "request_spec": request.spec,
        "instance_uuids": request.instance_uuids,
        "return_alternates": request.return_alternates,
        "lease": request.lease_s,
        "context": {
            "request_id": request.request_id or None,
            "user_id": request.user_id,
            "project_id": request.project_id,
        },
    }


def inventories_body(inventories: Mapping[str, Inventory]) -> dict[str, Any]:
    """Records by resource class."""
    return {name: msgspec.to_builtins(record) for name, record in inventories.items()}


def consumers_body(consumers: Iterable[ConsumerAllocations]) -> dict[str, Any]:
    """The body of POST /allocations; what is UNSET is left out."""
    return {consumer.consumer_uuid: _consumer_body(consumer) for consumer in consumers}


def _consumer_body(consumer: ConsumerAllocations) -> dict[str, Any]:
    body: dict[str, Any] = {
        "allocations": {
            provider: {"resources": resources}
            for provider, resources in consumer.allocations.items()
        },
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
    }
    if consumer.generation is not UNSET:
        body["consumer_generation"] = consumer.generation
    if consumer.consumer_type is not UNSET:
        body["consumer_type"] = consumer.consumer_type
    return body


def _group(group: RequestGroup) -> Pairs:
    pairs: Pairs = []
    if group.resources:
        pairs.append(("resources" + group.suffix, _amounts(group.resources)))
    pairs += _traits("required" + group.suffix, group.traits)
    pairs += _aggregates("member_of" + group.suffix, group.member_of)
    if group.in_tree is not None:
        pairs.append(("in_tree" + group.suffix, group.in_tree))
    return pairs


def _amounts(resources: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in resources.items())


def _traits(key: str, labels: Labels) -> Pairs:
    """One parameter for required and forbidden names, one per set of alternatives."""
    plain, alternatives = _split(labels.required)
    plain += ["!" + name for name in sorted(labels.forbidden)]
    pairs = [(key, ",".join(plain))] if plain else []
    return pairs + [(key, "in:" + ",".join(names)) for names in alternatives]


def _aggregates(key: str, labels: Labels) -> Pairs:
    pairs = [(key, "in:" + ",".join(sorted(names))) for names in labels.required]
    if labels.forbidden:
        pairs.append((key, "!in:" + ",".join(sorted(labels.forbidden))))
    return pairs


def _root_traits(labels: Labels) -> str:
    plain, alternatives = _split(labels.required)
    if alternatives:
        raise errors.Invalid(
            f"root_traits asks for one of {', '.join(alternatives[0])}, and "
            "root_required has no alternatives: ask once for each of them."
        )
    return ",".join(plain + ["!" + name for name in sorted(labels.forbidden)])


def _split(required: tuple[frozenset[str], ...]) -> tuple[list[str], list[list[str]]]:
    """Required names, and sets of which one is required."""
    plain = [name for names in required if len(names) == 1 for name in names]
    alternatives = [sorted(names) for names in required if len(names) != 1]
    return plain, alternatives
