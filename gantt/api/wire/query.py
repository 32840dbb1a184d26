"""Query strings of listings: text in, requests out; microversions end here.

Well-formed queries are read directly; others are judged by the schema first, so that
unknown parameters are refused in its words. ``parameters`` parses single values; GET
/allocation_candidates has ``candidate_query``. Every function may raise Problem 400.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from gantt.api.wire import parameters, schemas
from gantt.api.wire.problem import Problem
from gantt.api.wire.schema_errors import judge_query
from gantt.model.names import MAX_NAME
from gantt.model.requests import Labels, ProviderQuery, TraitQuery, UsageQuery

_USAGE_TYPE = re.compile(schemas.USAGE_TYPE_PATTERN)
_DASHED_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PROVIDER_KEYS_SINCE = (
    ("name", 0),
    ("uuid", 0),
    ("member_of", 3),
    ("resources", 4),
    ("in_tree", 14),
    ("required", 18),
)
_TRUTH = {"true": True, "false": False}


class Params:
    """The parameters of a query in order. ``last`` has the last value of each;
    ``values`` gives all of them."""

    __slots__ = ("last", "pairs")

    def __init__(self, query_string: str) -> None:
        self.pairs = _pairs(query_string)
        self.last = dict(self.pairs)

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.pairs if name == key]


def provider_query(params: Params, version: int) -> ProviderQuery:
    """GET /resource_providers."""
    last = params.last
    if not last:
        return ProviderQuery()
    known = {key for key, since in _PROVIDER_KEYS_SINCE if version >= since}
    uuids = [last[key] for key in ("uuid", "in_tree") if key in last]
    if not last.keys() <= known or not all(map(_DASHED_UUID.fullmatch, uuids)):
        judge_query(last, schemas.provider_query, version)
    member_of = required = Labels()
    if "member_of" in last:
        values = params.values("member_of")
        member_of = parameters.member_of("member_of", values, version)
    if "required" in last:
        values = params.values("required") if version >= 39 else [last["required"]]
        required = parameters.required(values, version)
    return ProviderQuery(
        name=last.get("name") or None,
        uuid=last.get("uuid"),
        in_tree=last.get("in_tree"),
        resources=(
            parameters.resources(last["resources"]) if "resources" in last else {}
        ),
        traits=required,
        member_of=member_of,
    )


def trait_query(params: Params) -> TraitQuery:
    """GET /traits."""
    last = params.last
    if not last.keys() <= {"name", "associated"}:
        judge_query(last, schemas.trait_query, 0)
    names = prefix = is_associated = None
    if "name" in last:
        operator, colon, value = last["name"].partition(":")
        if not colon:
            raise Problem(
                400,
                "Badly formatted name parameter. Expected name query string parameter "
                "in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: "
                f'"{operator}"',
            )
        if operator == "in":
            names = frozenset(value.split(","))
        elif operator == "startswith":
            prefix = value
    if "associated" in last:
        is_associated = _TRUTH.get(last["associated"].lower())
        if is_associated is None:
            raise Problem(
                400,
                'The query parameter "associated" only accepts "true" or "false"',
            )
    return TraitQuery(names=names, prefix=prefix, is_associated=is_associated)


def usage_query(params: Params, version: int) -> UsageQuery:
    """GET /usages."""
    last = params.last
    known = {"project_id", "user_id"}
    if version >= 38:
        known.add("consumer_type")
    consumer_type = last.get("consumer_type")
    if (
        not last.keys() <= known
        or "project_id" not in last
        or not all(0 < len(value) <= MAX_NAME for value in last.values())
        or (consumer_type is not None and not _USAGE_TYPE.search(consumer_type))
    ):
        judge_query(last, schemas.usage_query, version)
    return UsageQuery(
        project_id=last["project_id"],
        user_id=last.get("user_id"),
        consumer_type=consumer_type,
        by_type=version >= 38,
    )


def _pairs(query_string: str) -> list[tuple[str, str]]:
    pairs = []
    try:
        for piece in query_string.replace(";", "&").split("&"):
            if piece:
                key, _, value = piece.partition("=")
                pairs.append((_decode(key), _decode(value)))
    except UnicodeError as error:
        raise Problem(400, f"Invalid query string parameters: {error}") from None
    return pairs


def _decode(text: str) -> str:
    if text.isascii() and "%" not in text and "+" not in text:
        return text
    # WSGI passes bytes as latin-1.
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
