"""Candidates that were fetched: whose they are, and how much is left."""

from __future__ import annotations

from gantt.model.answers import (
    Candidate,
    Candidates,
    ProviderSummary,
    ResourceSummary,
)
from gantt.placement.candidates.listing import CandidateListing

SHARES = ("MISC_SHARES_VIA_AGGREGATE",)


def summary(root: str, *, shares: bool = False, used: int = 0) -> ProviderSummary:
    resources = {"VCPU": ResourceSummary(8, used)}
    return ProviderSummary(resources, SHARES if shares else (), None, root)


def candidate(*providers: str) -> Candidate:
    return Candidate({uuid: {"VCPU": 1} for uuid in providers}, {"": providers})


SUMMARIES = {
    "host": summary("host", used=6),
    "numa": summary("host"),
    "other": summary("other"),
    "pool": summary("pool", shares=True),
    "lender": summary("lender", shares=True),
}


def listing(*found: Candidate) -> CandidateListing:
    return CandidateListing([Candidates(found, SUMMARIES)])


def test_a_tree_is_found_by_its_root() -> None:
    one, two = candidate("numa"), candidate("host")
    found = listing(one, two)
    assert found.of("host") == [one, two]
    assert found.of("numa") == [one]
    assert found.has("host")
    assert not found.has("other")
    assert not found.has(None)
    assert (*found.of(None), *found.of("other")) == ()


def test_a_mere_sharing_provider_is_no_place() -> None:
    lent = candidate("other", "lender")
    found = listing(lent, candidate("host", "pool"))
    assert found.of("other") == [lent]
    assert not found.has("lender")
    assert not found.has("pool")


def test_a_sharing_provider_that_supplies_all_is_a_place() -> None:
    assert listing(candidate("lender")).has("lender")


def test_several_answers_come_one_after_the_other() -> None:
    one, two = candidate("host"), candidate("host", "pool")
    found = CandidateListing(
        [Candidates((one,), SUMMARIES), Candidates((two,), SUMMARIES)]
    )
    assert found.of("host") == [one, two]


def test_what_is_lost_takes_its_candidates_along() -> None:
    plain, mixed = candidate("host"), candidate("host", "pool")
    found = listing(mixed, plain, candidate("other", "pool"))
    less = found.without(frozenset({"pool"}))
    assert less.of("host") == [plain]
    assert not less.has("other")
    assert found.of("host") == [mixed, plain]
    assert (
        CandidateListing((), trouble="away").without(frozenset("x")).trouble == "away"
    )


def test_room_is_what_the_summaries_say() -> None:
    found = listing(candidate("host"))
    assert found.has_room("host", "VCPU", 2)
    assert not found.has_room("host", "VCPU", 3)
    assert found.has_room("host", "DISK_GB", 10**9)
    assert found.has_room("nobody", "VCPU", 1)
