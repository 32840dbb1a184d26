"""Each known difference in the shortest story that has it, what is no such case, and
random stories, which Gantt and OpenStack Placement must tell alike.

Should a release of Placement mend one of them, its test here fails, and its row in
docs/deviations.md can go.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gantt.conf import Settings
from tests.api.wsgi_client import Answer
from tests.conformance.profiles import Profile, settings_of
from tests.conformance.upstream import VERSION
from tests.differential import known
from tests.differential.compare import Differs, must_be_part
from tests.differential.pair import pair
from tests.differential.replay import retell, shorten
from tests.differential.sketch import (
    AGGREGATES,
    CONSUMERS,
    SHARES,
    UNKNOWN_PROVIDER,
    provider_uuid,
)
from tests.differential.step import Step
from tests.differential.story import Story
from tests.differential.upstream import upstream
from tests.differential.worlds import LATEST, PROVIDERS, furnish

ONE, TWO, THREE = map(provider_uuid, (1, 2, 3))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of(Profile.OLD_DEFAULTS, tmp_path)


def provider(
    uuid: str,
    rc: str = "",
    *,
    parent: str | None = None,
    traits: Sequence[str] = (),
    aggregates: Sequence[str] = (),
) -> list[Step]:
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
    has = {rc: {"total": 4}} if rc else {}
    return [
        Step("POST", PROVIDERS, LATEST, body),
        *furnish(uuid, has, traits, aggregates),
    ]


def claim(allocations: dict[str, Any]) -> Step:
    body = {
        "allocations": allocations,
        "project_id": "p1",
        "user_id": "u1",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return Step("PUT", f"/allocations/{CONSUMERS[0]}", LATEST, body)


def ask(query: str, version: int = LATEST) -> Step:
    return Step("GET", f"/allocation_candidates?{query}", version)


TREE = [*provider(ONE, "VCPU"), *provider(TWO, "VCPU", parent=ONE)]
STORIES = {
    known.EMPTY_CLAIM: [claim({})],
    known.REFUSED_CLAIM: [claim({UNKNOWN_PROVIDER: {"resources": {"VCPU": 1}}})],
    known.CHILD_SHARES: [
        *provider(ONE, "VCPU", aggregates=AGGREGATES[:1]),
        *provider(TWO),
        *provider(
            THREE, "DISK_GB", parent=TWO, traits=[SHARES], aggregates=AGGREGATES[:1]
        ),
        ask("resources=VCPU:1,DISK_GB:1"),
    ],
    known.LEAK: [*TREE, ask("resources=VCPU:1&resources1=VCPU:1")],
    known.COLLAPSE: [
        *provider(ONE, "VCPU", aggregates=AGGREGATES[:1]),
        *provider(TWO, "VCPU", aggregates=AGGREGATES[:1]),
        *provider(THREE, "DISK_GB", traits=[SHARES], aggregates=AGGREGATES[:1]),
        ask("resources=DISK_GB:1&resources1=VCPU:1"),
    ],
    known.CUT_SUMMARIES: [*TREE, ask("resources=VCPU:1&limit=1", 28)],
}


@pytest.mark.parametrize("name", STORIES)
def test_known_differences_are_recognized(name: str, settings: Settings) -> None:
    with pair(settings, upstream()) as both:
        for step in STORIES[name]:
            assert both.send(both.settle(step)).status in {200, 204, 400}
        both.compare_books(LATEST)
    assert both.met == {name: 1}


def test_claim_with_allocations_leaves_no_known_orphan() -> None:
    write = claim({ONE: {"resources": {"VCPU": 1}}})
    done = Answer(204, "", {}, b"")
    clash = Answer(409, "", {}, b'{"errors": [{"detail": "that does not exist"}]}')
    for answer in (done, clash):
        assert known.reason_of_ghost(CONSUMERS[0], write, answer) is None
    empty = claim({})
    assert known.reason_of_ghost(CONSUMERS[1], empty, done) is None


def test_missing_repeated_or_other_candidates_are_detected() -> None:
    whole = {"allocation_requests": [{"a": 1}, {"b": 2}]}
    must_be_part({"allocation_requests": [{"b": 2}]}, whole, 1)
    must_be_part({"allocation_requests": [{"b": 2}, {"a": 1}]}, whole, 9)
    for wrong in ([{"b": 2}], [{"b": 2}, {"b": 2}], [{"b": 2}, {"c": 3}]):
        with pytest.raises(Differs):
            must_be_part({"allocation_requests": wrong}, whole, 2)


def test_sequence_is_shrunk_to_its_cause(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the proof of a known difference, it is one like any other."""
    monkeypatch.setattr(known, "MENDS", {})
    story = [
        *provider(THREE, "DISK_GB", traits=["HW_CPU_X86_AVX"]),
        *STORIES[known.LEAK],
        claim({ONE: {"resources": {"VCPU": 1}}}),
    ]
    short = shorten(settings, story)
    assert [step.target for step in short] == [s.target for s in STORIES[known.LEAK]]
    assert short[0].body == {"name": ONE, "uuid": ONE}
    found = retell(settings, short)
    assert found is not None
    assert len(found[0]) == len(short)
    assert "theirs:" in found[1]


EXAMPLES = int(os.environ.get("GANTT_DIFFERENTIAL_EXAMPLES", "10"))
FIRST_SEED = int(os.environ.get("GANTT_DIFFERENTIAL_SEED", "1"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + EXAMPLES))
def test_both_services_give_equal_responses(
    seed: int, settings: Settings, record_property: Callable[[str, object], None]
) -> None:
    story = Story()
    replay = ""
    with pair(settings, upstream()) as both:
        try:
            story.tell(both, seed)
        except Differs as difference:
            replay = f"\n(not shortened)\n{difference}"
    if replay:
        found = retell(settings, shorten(settings, story.steps))
        if found:
            steps, text = found
            replay = "\n".join(["", *map(str, steps), text])
    assert not replay, f"seed {seed}:{replay}"
    tally = story.tally
    told = {"worlds": 1, "queries": tally.queries, "writes": tally.writes}
    record_property("told", [f"Agreed with OpenStack Placement {VERSION}", told])
    record_property("told", ["Known differences met", dict(tally.met)])
