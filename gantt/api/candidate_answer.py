"""Candidates as JSON text, put together from parts that are kept between requests.

Apart from the handler because it writes text rather than building a body: of a
thousand candidates each provider's summary is text already, made when the provider last
changed, and what all candidates have in common is made once. Older microversions, whose
summaries depend on the request, are built as any other body.
"""

from __future__ import annotations

import json
import random
import weakref
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from msgspec import Struct

from gantt.model.answers import ProviderSummary
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import summarize
from gantt.placement.candidates.combine import Pick
from gantt.placement.candidates.search import Found, find
from gantt.placement.candidates.summarize import Part
from gantt.state.state import State

# Since then a summary has all classes of its provider, its parent and its root.
FRAGMENTS_SINCE = 29
MAPPINGS_SINCE = 34
# Beyond so many providers all fragments are dropped; one takes about a kilobyte.
MAX_FRAGMENTS = 50_000


class Answer(Struct, frozen=True):
    """The body, and whether a work budget cut the search short."""

    body: bytes
    is_truncated: bool


class Encoder:
    """Encodes answers of one engine; calls must not overlap (the engine's read lock
    sees to that)."""

    def __init__(self) -> None:
        self._state: weakref.ref[State] = weakref.ref(State())
        self._fragments: dict[int, tuple[int, str]] = {}

    def __call__(
        self,
        state: State,
        request: CandidateRequest,
        version: int,
        *,
        rng: random.Random | None = None,
        budget: int | None = None,
    ) -> Answer:
        """The body at microversion 1.``version``. Raises as the search does."""
        found = find(state, request, rng, budget=budget)
        requests = ", ".join(_requests(state, found, version))
        rows = summarize.rows_of(
            state, found.parts, found.picks, whole_trees=request.nested
        )
        if version >= FRAGMENTS_SINCE:
            summaries = ", ".join(self._summaries(state, rows))
        else:
            shown = {name for group in request.groups for name in group.resources}
            summaries = ", ".join(_old_summaries(state, rows, version, shown))
        text = (
            f'{{"allocation_requests": [{requests}], '
            f'"provider_summaries": {{{summaries}}}}}'
        )
        return Answer(text.encode(), found.is_truncated)

    def _summaries(self, state: State, rows: list[int]) -> list[str]:
        """The members of ``provider_summaries``, made anew where a row has changed."""
        fragments = self._fragments
        if self._state() is not state or len(fragments) > MAX_FRAGMENTS:
            fragments.clear()
            self._state = weakref.ref(state)
        stamps = state.providers.touched[rows].tolist()
        stale = [
            (row, stamp)
            for row, stamp in zip(rows, stamps, strict=True)
            if (known := fragments.get(row)) is None or known[0] != stamp
        ]
        made = summarize.summaries_of(state, [row for row, _ in stale])
        for (row, stamp), (uuid, summary) in zip(stale, made.items(), strict=True):
            body = json.dumps(_summary(summary, FRAGMENTS_SINCE, None))
            fragments[row] = (stamp, f"{quoted(uuid)}: {body}")
        return [fragments[row][1] for row in rows]


class _Texts:
    """Texts that the requests of one answer share: uuids, and what is given."""

    def __init__(self, state: State, parts: Sequence[Part]) -> None:
        self._state, self._parts = state, parts
        self._uuids: dict[int, str] = {}
        self._gifts: dict[tuple[int, ...], str] = {}

    def uuid(self, row: int) -> str:
        """The uuid of a provider, in quotes."""
        text = self._uuids.get(row)
        if text is None:
            text = self._uuids[row] = quoted(self._state.providers.uuids[row])
        return text

    def gift(self, places: tuple[int, ...]) -> str:
        """What one provider gives to the parts at ``places``; "" for nothing."""
        text = self._gifts.get(places)
        if text is None:
            text = self._gifts[places] = self._sum(places)
        return text

    def _sum(self, places: tuple[int, ...]) -> str:
        total: dict[str, int] = {}
        for place in places:
            for index, amount in self._parts[place][1].items():
                name = self._state.classes.at(index).name
                total[name] = total.get(name, 0) + amount
        return json.dumps(total) if total else ""


def _requests(state: State, found: Found, version: int) -> Iterable[str]:
    """The members of ``allocation_requests``."""
    texts = _Texts(state, found.parts)
    suffixes: dict[str, list[int]] = {}
    for place, (suffix, _) in enumerate(found.parts):
        suffixes.setdefault(suffix, []).append(place)
    groups = [(quoted(suffix), places) for suffix, places in suffixes.items()]
    for pick in found.picks:
        mappings = _mappings(texts, groups, pick) if version >= MAPPINGS_SINCE else ""
        yield _request(texts, pick, version, mappings)


def _request(texts: _Texts, pick: Pick, version: int, mappings: str) -> str:
    places_on: dict[int, tuple[int, ...]] = {}
    for place, row in enumerate(pick):
        places_on[row] = (*places_on.get(row, ()), place)
    shares = [
        (texts.uuid(row), text)
        for row, places in places_on.items()
        if (text := texts.gift(places))
    ]
    if version < 12:
        listed = ", ".join(
            f'{{"resource_provider": {{"uuid": {uuid}}}, "resources": {text}}}'
            for uuid, text in shares
        )
        return f'{{"allocations": [{listed}]}}'
    listed = ", ".join(f'{uuid}: {{"resources": {text}}}' for uuid, text in shares)
    return f'{{"allocations": {{{listed}}}{mappings}}}'


def _mappings(texts: _Texts, groups: list[tuple[str, list[int]]], pick: Pick) -> str:
    listed = []
    for suffix, places in groups:
        rows = dict.fromkeys(pick[place] for place in places)
        listed.append(f"{suffix}: [{', '.join(map(texts.uuid, rows))}]")
    return f', "mappings": {{{", ".join(listed)}}}'


def _old_summaries(
    state: State, rows: list[int], version: int, shown: set[str]
) -> Iterable[str]:
    for uuid, summary in summarize.summaries_of(state, rows).items():
        body = _summary(summary, version, shown if version < 27 else None)
        yield f"{quoted(uuid)}: {json.dumps(body)}"


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
