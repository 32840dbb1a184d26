"""Random GET requests: mostly candidates, with all parameters of a microversion.

Some parameters are unknown to the microversion, and some names do not exist: then both
must refuse in the same way.
"""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import Struct

from tests.differential.sketch import (
    AGGREGATES,
    CLASSES,
    PROJECTS,
    SHARES,
    TRAITS,
    USERS,
    Sketch,
)
from tests.differential.step import Step

VERSIONS = (*range(10, 40), *[39] * 12, 36, 36, 36, 34, 35, 33, 29, 28, 25, 25)
UNKNOWN = "CUSTOM_UNHEARD_OF"
Pairs = list[tuple[str, str]]


class Reach(Struct, frozen=True):
    """What the query may contain: what its microversion knows, or more."""

    version: int
    is_daring: bool

    def has(self, since: int) -> bool:
        return self.is_daring or self.version >= since


def candidates(sketch: Sketch) -> Step:
    """GET /allocation_candidates"""
    version = sketch.one(VERSIONS)
    reach = Reach(version, sketch.chance(0.03))
    suffixes = _suffixes(sketch, reach)
    pairs: Pairs = []
    for suffix in suffixes:
        pairs += _group(sketch, reach, suffix, is_bare=False)
    if reach.has(36) and sketch.chance(0.35):
        pairs += _subtrees(sketch, reach, suffixes)
    groups = {key[9:] for key, _ in pairs if key.startswith("resources")}
    share = 0.97 if len(groups - {""}) > 1 else 0.2
    if reach.has(25) and sketch.chance(share):
        pairs.append(("group_policy", sketch.one(("none", "none", "isolate"))))
    if reach.has(35) and sketch.chance(0.12):
        pairs.append(("root_required", ",".join(_traits(sketch, can_forbid=True))))
    if reach.has(16) and sketch.chance(0.3):
        pairs.append(("limit", str(sketch.one((1, 2, 3, 5, 1000)))))
    return Step("GET", f"/allocation_candidates?{urlencode(pairs)}", version)


def _suffixes(sketch: Sketch, reach: Reach) -> list[str]:
    if not reach.has(25):
        return [""]
    names = ["1", "2", "3"]
    if reach.has(33) and sketch.chance(0.5):
        names = ["_A", "_b-1", "3"]
    found = names[: sketch.one((0, 1, 1, 2, 2, 3))]
    if not found or sketch.chance(0.6):
        found.insert(0, "")
    if sketch.chance(0.2):
        sketch.rng.shuffle(found)
    return found


def _subtrees(sketch: Sketch, reach: Reach, suffixes: list[str]) -> Pairs:
    """same_subtree over some groups, and over one that asks for no resources."""
    pairs: Pairs = []
    named = [suffix for suffix in suffixes if suffix]
    if sketch.chance(0.5):
        bare = "_R"
        pairs += _group(sketch, reach, bare, is_bare=True)
        if not any(key.endswith(bare) for key, _ in pairs):
            pairs.append((f"required{bare}", sketch.one(TRAITS)))
        named.append(bare)
        if len(named) > 2 and sketch.chance(0.5):
            named.pop(0)
    if named:
        pairs.append(("same_subtree", ",".join(named)))
        if len(named) > 2 and sketch.chance(0.3):
            pairs.append(("same_subtree", ",".join(named[1:])))
    return pairs


def _group(sketch: Sketch, reach: Reach, suffix: str, *, is_bare: bool) -> Pairs:
    pairs: Pairs = []
    if not is_bare:
        pairs.append((f"resources{suffix}", _resources(sketch, reach, suffix)))
    if reach.has(17) and sketch.chance(0.2):
        for _ in range(sketch.one((1, 1, 2) if reach.has(39) else (1,))):
            pairs.append((f"required{suffix}", _required(sketch, reach)))
    if reach.has(21) and sketch.chance(0.15):
        for _ in range(sketch.one((1, 1, 1, 2) if reach.has(24) else (1,))):
            pairs.append((f"member_of{suffix}", _member_of(sketch, reach)))
    if reach.has(31) and sketch.chance(0.07):
        pairs.append((f"in_tree{suffix}", sketch.provider()))
    return pairs


def _resources(sketch: Sketch, reach: Reach, suffix: str) -> str:
    present = sorted({rc for _, rc in sketch.places()}) or list(CLASSES)
    most = sketch.one((1, 1, 2)) if suffix else sketch.one((1, 2, 2, 3))
    wanted = sketch.some(present if sketch.chance(0.95) else CLASSES, 1, most)
    if sketch.chance(0.01):
        wanted.append(UNKNOWN)
    return ",".join(f"{rc}:{sketch.one((1, 1, 1, 1, 2, 2, 4))}" for rc in wanted)


def _traits(sketch: Sketch, *, can_forbid: bool) -> list[str]:
    found = sketch.some((*TRAITS, *TRAITS, SHARES), 1, sketch.one((1, 1, 2)))
    if sketch.chance(0.01):
        found.append(UNKNOWN)
    if can_forbid:
        found = [f"!{name}" if sketch.chance(0.4) else name for name in found]
    return found


def _required(sketch: Sketch, reach: Reach) -> str:
    if reach.has(39) and sketch.chance(0.3):
        return "in:" + ",".join(_traits(sketch, can_forbid=False))
    return ",".join(_traits(sketch, can_forbid=reach.has(22)))


def _member_of(sketch: Sketch, reach: Reach) -> str:
    mark = "!" if reach.has(32) and sketch.chance(0.3) else ""
    if sketch.chance(0.5):
        return mark + sketch.one(AGGREGATES)
    return f"{mark}in:" + ",".join(sketch.some(AGGREGATES, 1, 2))


def other(sketch: Sketch) -> Step:
    """GET of providers by what they have, or of usages by who uses."""
    if sketch.chance(0.25):
        return _usages(sketch)
    version = sketch.one(range(40))
    reach = Reach(version, sketch.chance(0.03))
    pairs: Pairs = []
    if reach.has(4) and sketch.chance(0.5):
        pairs.append(("resources", _resources(sketch, reach, "")))
    if reach.has(18) and sketch.chance(0.5):
        pairs.append(("required", _required(sketch, reach)))
    if reach.has(3) and sketch.chance(0.4):
        for _ in range(sketch.one((1, 1, 2))):
            pairs.append(("member_of", _member_of(sketch, reach)))
    if reach.has(14) and sketch.chance(0.2):
        pairs.append(("in_tree", sketch.provider()))
    if sketch.chance(0.1):
        pairs.append(sketch.one((("name", "n1"), ("uuid", sketch.provider()))))
    return Step("GET", f"/resource_providers?{urlencode(pairs)}", version)


def _usages(sketch: Sketch) -> Step:
    version = sketch.one(range(9, 40))
    pairs = [("project_id", sketch.one(PROJECTS))]
    if sketch.chance(0.4):
        pairs.append(("user_id", sketch.one(USERS)))
    if version >= 38 and sketch.chance(0.6):
        kinds = ("all", "unknown", "INSTANCE", "MIGRATION", "NOBODY")
        pairs.append(("consumer_type", sketch.one(kinds)))
    return Step("GET", f"/usages?{urlencode(pairs)}", version)
