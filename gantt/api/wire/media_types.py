"""Content negotiation: the Accept header against the types that we offer.

Errors and answers weigh the same header differently. A header that violates the grammar
of RFC 7231 accepts everything.
"""

from __future__ import annotations

import re
from functools import lru_cache

JSON = "application/json"
HTML = "text/html"
PLAIN = "text/plain"

_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = rf"[ \t]*;[ \t]*{_WORD}(?:=(?:{_WORD}|{_QUOTED}))?"
_RANGE = re.compile(rf"[ \t]*({_WORD})/({_WORD})((?:{_PARAMETER})*)[ \t]*(?:,|$)")
_EMPTY = re.compile(r"[ \t]*,")
_ONE_PARAMETER = re.compile(rf";[ \t]*({_WORD})(?:=({_WORD}|{_QUOTED}))?")
_WEIGHT = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")

# One entry of the header: (type, subtype, has parameters of its own, weight)
Range = tuple[str, str, bool, float]


@lru_cache(maxsize=256)
def accepts_json(header: str) -> bool:
    return header == JSON or _weight(_ranges(header), JSON) > 0


@lru_cache(maxsize=256)
def best_error_type(header: str) -> str:
    """The type of an error body: HTML or JSON, whichever has the greater weight (HTML
    if equal), or text when neither is acceptable."""
    ranges = _ranges(header)
    html, json = _weight(ranges, HTML), _weight(ranges, JSON)
    if html <= 0 and json <= 0:
        return PLAIN
    return HTML if html >= json else JSON


def _ranges(header: str) -> list[Range] | None:
    """The entries of the header; None when it violates the grammar."""
    found: list[Range] = []
    at = 0
    while at < len(header):
        empty = _EMPTY.match(header, at)
        if empty:
            at = empty.end()
            continue
        match = _RANGE.match(header, at)
        if match is None:
            return found if found and not header[at:].strip() else None
        at = match.end()
        entry = _entry(match)
        if entry is None:
            return None
        found.append(entry)
    return found


def _entry(match: re.Match[str]) -> Range | None:
    kind, subtype = match[1].lower(), match[2].lower()
    if kind == "*" and subtype != "*":
        return None
    weight, has_own = 1.0, False
    for name, value in _ONE_PARAMETER.findall(match[3]):
        if name.lower() == "q":
            if not _WEIGHT.match(value):
                return None
            weight = float(value)
            break  # parameters after the weight do not belong to the type
        has_own = True
    return kind, subtype, has_own, weight


def _weight(ranges: list[Range] | None, offer: str) -> float:
    """The weight of the most specific entry that covers ``offer``."""
    if ranges is None:
        return 1.0
    kind, _, subtype = offer.partition("/")
    best_rank, weight = -1, 0.0
    for range_kind, range_subtype, has_own, range_weight in ranges:
        if has_own:
            continue
        if (range_kind, range_subtype) == (kind, subtype):
            rank = 2
        elif range_kind == kind and range_subtype == "*":
            rank = 1
        elif range_kind == "*":
            rank = 0
        else:
            continue
        if rank > best_rank:
            best_rank, weight = rank, range_weight
    return weight
