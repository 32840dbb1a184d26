"""The query of GET /allocation_candidates as a CandidateRequest.

It alone has groups, and rules between them. The order of the checks is that in which
errors take precedence in the wire contract: parameters of the whole request, each
group's parameters as they come, then rules between groups.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gantt.api.wire import parameters, schemas
from gantt.api.wire.problem import (
    QUERY_BAD_VALUE,
    QUERY_DUPLICATE_KEY,
    QUERY_MISSING_VALUE,
    Problem,
)
from gantt.api.wire.query import Params
from gantt.api.wire.schema_errors import judge_query
from gantt.model.requests import CandidateRequest, Labels, RequestGroup

if TYPE_CHECKING:
    from gantt.conf import ApiOptions

_GROUP_KEYS = ("resources", "required", "member_of", "in_tree")
_NUMBERED = re.compile(r"(?:resources|required|member_of)(?:[1-9][0-9]*)?")
_NUMBERED_IN_TREE = re.compile(
    r"(?:resources|required|member_of|in_tree)(?:[1-9][0-9]*)?"
)
_NAMED = re.compile(r"(?:resources|required|member_of|in_tree)(?:[a-zA-Z0-9_-]{1,64})?")
_LIMIT = re.compile(r"[1-9][0-9]*")
_POLICIES = ("none", "isolate")
_KEYS_SINCE = (
    ("resources", 10),
    ("limit", 16),
    ("required", 17),
    ("member_of", 21),
    ("group_policy", 25),
    ("in_tree", 31),
    ("root_required", 35),
    ("same_subtree", 36),
)
# Longer limits exceed any answer, and int() refuses very long ones.
_MAX_LIMIT_DIGITS = 18


def candidate_request(
    params: Params, version: int, options: ApiOptions
) -> CandidateRequest:
    """Raises Problem 400."""
    _judge_when_doubtful(params, version)
    limit = _limit(params)
    policy = next(iter(params.values("group_policy")), None)
    root_traits = _root_traits(params, version)
    same_subtrees = tuple(map(_subtree, params.values("same_subtree")))
    groups = _groups(params, version)
    _check_resources(groups, same_subtrees, version)
    _check_suffixes(groups, same_subtrees)
    _check_conflicts(groups)
    if policy is None and sum(map(bool, groups)) > 1:
        raise Problem(
            400,
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.',
        )
    most = options.max_allocation_candidates
    return CandidateRequest(
        groups=tuple(groups.values()),
        limit=limit,
        isolate=policy == "isolate",
        root_traits=root_traits,
        same_subtrees=tuple(map(frozenset, same_subtrees)),
        nested=version >= 29,
        generation_limit=most if most >= 0 else None,
        breadth_first=options.breadth_first,
        randomize=options.randomize_allocation_candidates,
    )


# ---------------------------------------------------------------- the request's parts


def _judge_when_doubtful(params: Params, version: int) -> None:
    last = params.last
    known = {key for key, since in _KEYS_SINCE if version >= since}
    if version >= 33:
        suffixed = _NAMED
    else:
        suffixed = _NUMBERED_IN_TREE if version >= 31 else _NUMBERED
    for key in last:
        if key not in known and (version < 25 or not suffixed.fullmatch(key)):
            judge_query(last, schemas.candidate_query, version)
            break
    else:
        if version < 25 and "resources" not in last:
            judge_query(last, schemas.candidate_query, version)
    # Every value of a repeated one must be valid; the first is used.
    for key, value in params.pairs:
        if (key == "limit" and not _LIMIT.fullmatch(value)) or (
            key == "group_policy" and value not in _POLICIES
        ):
            judge_query({**last, key: value}, schemas.candidate_query, version)


def _limit(params: Params) -> int | None:
    if "limit" not in params.last:
        return None
    digits = params.values("limit")[0]
    return int(digits) if len(digits) <= _MAX_LIMIT_DIGITS else None


def _root_traits(params: Params, version: int) -> Labels:
    if "root_required" not in params.last:
        return Labels()
    values = params.values("root_required")
    if len(values) > 1:
        raise Problem(
            400,
            "Query parameter 'root_required' may be specified only once.",
            QUERY_DUPLICATE_KEY,
        )
    traits = parameters.required(values, version, any_of=False)
    clashing = frozenset().union(*traits.required) & traits.forbidden
    if clashing:
        raise Problem(
            400,
            "Conflicting required and forbidden traits found in root_required: "
            + ", ".join(sorted(clashing)),
            QUERY_BAD_VALUE,
        )
    return traits


def _subtree(value: str) -> tuple[str, ...]:
    suffixes = tuple(suffix.strip() for suffix in value.split(","))
    if not all(suffixes):
        raise Problem(
            400,
            "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
            QUERY_BAD_VALUE,
        )
    return suffixes


def _groups(params: Params, version: int) -> dict[str, RequestGroup]:
    """The groups by suffix, in the order in which the query first names them.

    Values are checked in order, so that the first wrong one is reported.
    """
    drafts: dict[str, dict[str, Any]] = {}
    for key, value in params.pairs:
        for kind in _GROUP_KEYS:
            if key.startswith(kind):
                suffix = key.removeprefix(kind)
                draft = drafts.setdefault(suffix, {"suffix": suffix})
                _read(draft, kind, value, params.values(key), version)
                break
    return {suffix: RequestGroup(**draft) for suffix, draft in drafts.items()}


def _read(
    draft: dict[str, Any], kind: str, value: str, values: list[str], version: int
) -> None:
    """Add one parameter to its group; ``values`` are all of a repeated one."""
    if kind == "resources":
        draft["resources"] = parameters.resources(value)
    elif kind == "in_tree":
        draft["in_tree"] = parameters.in_tree(value)
    elif kind == "required" and "traits" not in draft:
        meant = values if version >= 39 else values[-1:]
        draft["traits"] = parameters.required(meant, version)
    elif kind == "member_of" and "member_of" not in draft:
        key = f"member_of{draft['suffix']}"
        draft["member_of"] = parameters.member_of(key, values, version)


# --------------------------------------------------------- what holds between groups


def _check_resources(
    groups: dict[str, RequestGroup],
    same_subtrees: tuple[tuple[str, ...], ...],
    version: int,
) -> None:
    """Groups without resources are allowed since 1.36, in a subtree."""
    bare = {suffix: group for suffix, group in groups.items() if not group.resources}
    if version < 36:
        _refuse_bare(bare)
        if not groups:
            raise Problem(
                400,
                "At least one request group (`resources` or `resources{$S}`) is "
                "required.",
            )
        return
    if len(bare) == len(groups):
        raise Problem(
            400,
            "There must be at least one resources or resources[$S] parameter.",
            QUERY_MISSING_VALUE,
        )
    named = {suffix for subtree in same_subtrees for suffix in subtree}
    strays = [suffix for suffix in bare if suffix not in named]
    if strays:
        raise Problem(
            400,
            "Resourceless suffixed group request should be specified in "
            f"`same_subtree` query param: bad group(s) - {strays}.",
            QUERY_BAD_VALUE,
        )


def _refuse_bare(bare: dict[str, RequestGroup]) -> None:
    if not bare:
        return
    orphans = [f"required{s}" for s, group in bare.items() if group.traits]
    if orphans:
        raise Problem(
            400,
            "All traits parameters must be associated with resources.  Found the "
            f"following orphaned traits keys: {', '.join(orphans)}",
        )
    orphans = [f"member_of{s}" for s, group in bare.items() if group.member_of]
    if orphans:
        raise Problem(
            400,
            "All member_of parameters must be associated with resources. Found the "
            f"following orphaned member_of keys: {', '.join(orphans)}",
        )
    raise Problem(400, "All request groups must specify resources.")


def _check_suffixes(
    groups: dict[str, RequestGroup], same_subtrees: tuple[tuple[str, ...], ...]
) -> None:
    for subtree in same_subtrees:
        unknown = [suffix for suffix in subtree if suffix not in groups]
        if unknown:
            raise Problem(
                400,
                f"Real suffixes should be specified in `same_subtree`: {unknown} not "
                f"found in {list(groups)}.",
                QUERY_BAD_VALUE,
            )


def _check_conflicts(groups: dict[str, RequestGroup]) -> None:
    """Raises Problem 400 for groups that require a forbidden trait."""
    clashes = [
        f"required{suffix}: ({', '.join(sorted(names))})"
        for suffix, group in groups.items()
        if group.traits.forbidden
        for names in group.traits.required
        if names <= group.traits.forbidden
    ]
    if clashes:
        raise Problem(
            400,
            "Conflicting required and forbidden traits found in the following traits "
            f"keys: {', '.join(sorted(clashes))}",
        )
