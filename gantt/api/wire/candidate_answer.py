"""Encodes candidates as JSON from fragments that are cached between requests.

The summary of each provider is cached as text until the provider changes, and the parts
that all candidates share are encoded once per request; the rest is look-ups and joins.
Summaries at older microversions depend on the request and are encoded each time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from msgspec import Struct

from gantt.model.answers import ProviderSummary
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import search_answer
from gantt.placement.candidates.fragments import Fragments, Pattern, Template, weave
from gantt.placement.candidates.search import find
from gantt.placement.candidates.search_answer import Part
from gantt.state.state import State

# Since then a summary contains all classes of its provider, its parent and its root.
FRAGMENTS_SINCE = 29
MAPPINGS_SINCE = 34
# Beyond so many providers all fragments are dropped. A fragment takes about 400 bytes,
# plus the names of its traits.
MAX_FRAGMENTS = 50_000
COMMA = b", "


class CandidatesBody(Struct, frozen=True):
    """The body, whether the search budget truncated it, and how many were found."""

    body: bytes
    is_truncated: bool
    count: int = 0


class Encoder:
    """Encodes answers of one engine; calls must not overlap, which the engine's lock
    ``search`` ensures."""

    def __init__(self) -> None:
        self._uuids = Fragments(_uuids, most=MAX_FRAGMENTS)
        self._summaries = Fragments(_summaries, most=MAX_FRAGMENTS)

    def __call__(
        self,
        state: State,
        request: CandidateRequest,
        version: int,
        *,
        rng: random.Random | None = None,
        budget: int | None = None,
    ) -> CandidatesBody:
        """The body at microversion 1.``version``. Raises as the search does."""
        found = find(state, request, rng, budget=budget)
        parts, combinations = found.parts, found.combinations
        requests = weave(
            combinations,
            self._uuids.of(state, combinations),
            lambda pattern: _template(state, parts, pattern, version),
        )
        rows = search_answer.rows_of(
            state, parts, combinations, whole_trees=request.nested
        )
        if version >= FRAGMENTS_SINCE:
            summaries = self._summaries.of(state, rows).tolist()
        else:
            shown = {name for group in request.groups for name in group.resources}
            summaries = _old_summaries(state, rows.tolist(), version, shown)
        body = [
            b'{"allocation_requests": [',
            *_listed(requests.ravel().tolist()),
            b'], "provider_summaries": {',
            *_listed(summaries),
            b"}}",
        ]
        return CandidatesBody(b"".join(body), found.is_truncated, len(combinations))


def _listed(texts: list[bytes]) -> list[bytes]:
    """Members that begin with commas, without the first comma."""
    return [texts[0].removeprefix(COMMA), *texts[1:]] if texts else []


def _uuids(state: State, rows: list[int]) -> list[bytes]:
    uuids = state.providers.uuids
    return [quoted(uuids[row]).encode() for row in rows]


def _summaries(state: State, rows: list[int]) -> list[bytes]:
    return _members(search_answer.summaries_of(state, rows), FRAGMENTS_SINCE, None)


def _old_summaries(
    state: State, rows: list[int], version: int, shown: set[str]
) -> list[bytes]:
    found = search_answer.summaries_of(state, rows)
    return _members(found, version, shown if version < 27 else None)


def _members(
    summaries: dict[str, ProviderSummary], version: int, shown: set[str] | None
) -> list[bytes]:
    return [
        f", {quoted(uuid)}: {json.dumps(_summary(one, version, shown))}".encode()
        for uuid, one in summaries.items()
    ]


def _template(
    state: State, parts: Sequence[Part], pattern: Pattern, version: int
) -> Template:
    """A member of ``allocation_requests``."""
    gifts: dict[int, dict[str, int]] = {number: {} for number in pattern}
    members: dict[str, dict[int, None]] = {}
    for number, (suffix, amounts) in zip(pattern, parts, strict=True):
        members.setdefault(suffix, {})[number] = None
        for index, amount in amounts.items():
            name = state.classes.at(index).name
            gifts[number][name] = gifts[number].get(name, 0) + amount
    # Placeholders are numbers between NULs, which JSON text cannot contain.
    shares = [(f"\0{n}\0", json.dumps(gift)) for n, gift in gifts.items() if gift]
    if version < 12:
        listed = ", ".join(
            f'{{"resource_provider": {{"uuid": {uuid}}}, "resources": {text}}}'
            for uuid, text in shares
        )
        return _compiled(f'{{"allocations": [{listed}]}}')
    listed = ", ".join(f'{uuid}: {{"resources": {text}}}' for uuid, text in shares)
    if version < MAPPINGS_SINCE:
        return _compiled(f'{{"allocations": {{{listed}}}}}')
    mappings = ", ".join(
        f"{quoted(suffix)}: [{', '.join(f'{chr(0)}{n}{chr(0)}' for n in numbers)}]"
        for suffix, numbers in members.items()
    )
    return _compiled(f'{{"allocations": {{{listed}}}, "mappings": {{{mappings}}}}}')


def _compiled(text: str) -> Template:
    pieces = f", {text}".split("\0")
    return Template(
        tuple(piece.encode() for piece in pieces[::2]), tuple(map(int, pieces[1::2]))
    )


def _summary(
    summary: ProviderSummary, version: int, shown: set[str] | None
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "resources": {
            name: {"capacity": one.capacity, "used": one.used}
            for name, one in summary.resources.items()
            if shown is None or name in shown
        }
    }
    if version >= 17:
        body["traits"] = summary.traits
    if version >= FRAGMENTS_SINCE:
        body["parent_provider_uuid"] = summary.parent_uuid
        body["root_provider_uuid"] = summary.root_uuid
    return body
