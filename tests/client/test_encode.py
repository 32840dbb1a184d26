"""Requests become the query strings and bodies that Placement's API documents."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from gantt import errors
from gantt.client import encode, remote_allocations
from gantt.model.answers import ConsumerView
from gantt.model.commands import ConsumerAllocations
from gantt.model.requests import (
    CandidateRequest,
    Labels,
    ProviderQuery,
    RequestGroup,
    TraitQuery,
    UsageQuery,
)

AB = Labels(required=(frozenset("A"), frozenset("BC")), forbidden=frozenset("D"))


def test_paths_are_escaped() -> None:
    assert encode.path("traits", "a/b ü?") == "/traits/a%2Fb%20%C3%BC%3F"
    assert encode.query("/x", []) == "/x"
    assert encode.query("/x", [("a", "in:b,c"), ("d", "!e&f")]) == (
        "/x?a=in:b,c&d=!e%26f"
    )


def test_providers() -> None:
    query = ProviderQuery(
        name="n", resources={"VCPU": 1, "DISK_GB": 2}, traits=AB, member_of=AB
    )
    assert encode.provider_pairs(query) == [
        ("name", "n"),
        ("resources", "VCPU:1,DISK_GB:2"),
        ("required", "A,!D"),
        ("required", "in:B,C"),
        ("member_of", "in:A"),
        ("member_of", "in:B,C"),
        ("member_of", "!in:D"),
    ]
    assert encode.provider_pairs(ProviderQuery()) == []


def test_traits_and_usages() -> None:
    names = TraitQuery(names=frozenset("BA"), prefix="A", is_associated=False)
    assert encode.trait_pairs(names) == [("name", "in:A,B"), ("associated", "false")]
    assert encode.trait_pairs(TraitQuery(prefix="A")) == [("name", "startswith:A")]
    assert encode.usage_pairs(UsageQuery("p")) == [
        ("project_id", "p"),
        ("consumer_type", "all"),
    ]
    by_type = UsageQuery("p", user_id="u", by_type=True)
    assert encode.usage_pairs(by_type) == [("project_id", "p"), ("user_id", "u")]


def test_candidates() -> None:
    request = CandidateRequest(
        groups=(
            RequestGroup("", {"VCPU": 1}, in_tree="t"),
            RequestGroup("_A", {"X": 2}, traits=AB),
            RequestGroup("_B", member_of=AB),
        ),
        limit=3,
        root_traits=Labels((frozenset("R"),), frozenset("S")),
        same_subtrees=(frozenset({"_B", "_A"}),),
    )
    assert encode.candidate_pairs(request) == [
        ("resources", "VCPU:1"),
        ("in_tree", "t"),
        ("resources_A", "X:2"),
        ("required_A", "A,!D"),
        ("required_A", "in:B,C"),
        ("member_of_B", "in:A"),
        ("member_of_B", "in:B,C"),
        ("member_of_B", "!in:D"),
        ("group_policy", "none"),
        ("limit", "3"),
        ("root_required", "R,!S"),
        ("same_subtree", "_A,_B"),
    ]


def test_inexpressible_requests_are_refused() -> None:
    group = (RequestGroup(resources={"VCPU": 1}),)
    with pytest.raises(errors.Invalid, match="nested"):
        encode.candidate_pairs(CandidateRequest(group, nested=False))
    with pytest.raises(errors.Invalid, match="B, C"):
        encode.candidate_pairs(CandidateRequest(group, root_traits=AB))


def a_claim(**fields: object) -> ConsumerAllocations:
    given = {"generation": UNSET, "consumer_type": UNSET, **fields}
    return ConsumerAllocations("c", {"r": {"VCPU": 1}}, "p", "u", **given)  # type: ignore[arg-type]


def test_unset_fields_are_omitted() -> None:
    (body,) = encode.consumers_body([a_claim()]).values()
    assert set(body) == {"allocations", "project_id", "user_id"}
    (body,) = encode.consumers_body([a_claim(generation=None)]).values()
    assert body["consumer_generation"] is None


@pytest.mark.parametrize(
    ("fields", "version", "is_open"),
    [
        ({}, "1.27", False),
        ({"generation": None}, "1.37", False),
        ({"generation": 1, "consumer_type": "X"}, "1.39", False),
        ({"consumer_type": "X"}, "1.39", True),
    ],
)
def test_oldest_sufficient_version_is_used(
    fields: dict[str, object], version: str, is_open: bool
) -> None:
    consumers = [a_claim(**fields)]
    assert remote_allocations.version_for(consumers) == version
    assert remote_allocations.is_open(consumers, version) is is_open


def test_reshape_requires_generations() -> None:
    version = remote_allocations.version_for([a_claim()], oldest="1.30")
    assert version == "1.37"
    known = ConsumerView({}, "p", "u", 4, None)
    (filled,) = remote_allocations.filled_in([a_claim()], version, lambda _: known)
    assert filled.generation == 4
    (fresh,) = remote_allocations.filled_in([a_claim()], version, lambda _: None)
    assert fresh.generation is None


def test_types_are_given_for_all_consumers_or_none() -> None:
    consumers = [a_claim(consumer_type="X"), a_claim(generation=2)]
    known = ConsumerView({}, "p", "u", 4, "Y")
    filled = remote_allocations.filled_in(consumers, "1.39", lambda _: known)
    assert [(each.generation, each.consumer_type) for each in filled] == [
        (4, "X"),
        (2, "Y"),
    ]
    with pytest.raises(errors.Invalid, match="consumer_type"):
        remote_allocations.filled_in(consumers, "1.39", lambda _: None)
