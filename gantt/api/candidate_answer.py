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


class _Template(Struct, frozen=True):
    """A request with its providers left open: ``text`` has a ``%s`` for each of
    ``order``, which numbers the providers of a pick as they first occur."""

    text: str
    order: tuple[int, ...]


def _requests(state: State, found: Found, version: int) -> Iterable[str]:
    """The members of ``allocation_requests``.

    Picks of one pattern (which parts fall on one provider) differ in uuids alone, so
    each pattern is written once.
    """
    uuids = state.providers.uuids
    texts: dict[int, str] = {}
    templates: dict[tuple[int, ...], _Template] = {}
    for pick in found.picks:
        rows = list(dict.fromkeys(pick))
        pattern = tuple(map(rows.index, pick))
        template = templates.get(pattern)
        if template is None:
            template = _template(state, found.parts, pattern, version)
            templates[pattern] = template
        for row in rows:
            if row not in texts:
                texts[row] = quoted(uuids[row])
        yield template.text % tuple([texts[rows[n]] for n in template.order])


def _template(
    state: State, parts: Sequence[Part], pattern: tuple[int, ...], version: int
) -> _Template:
    gifts: dict[int, dict[str, int]] = {number: {} for number in pattern}
    members: dict[str, dict[int, None]] = {}
    for number, (suffix, amounts) in zip(pattern, parts, strict=True):
        members.setdefault(suffix, {})[number] = None
        for index, amount in amounts.items():
            name = state.classes.at(index).name
            gifts[number][name] = gifts[number].get(name, 0) + amount
    # A uuid's place is its number between NULs, which JSON text cannot contain.
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


def _compiled(text: str) -> _Template:
    pieces = text.split("\0")
    literal = "%s".join(piece.replace("%", "%%") for piece in pieces[::2])
    return _Template(literal, tuple(map(int, pieces[1::2])))


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
