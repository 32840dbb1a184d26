"""The query of allocation candidates: groups, their rules, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.api.wire.candidate_query import candidate_request
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params
from gantt.conf import ApiOptions
from gantt.model.names import MAX_INT
from gantt.model.requests import CandidateRequest, Labels, RequestGroup

U1 = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a01"
U2 = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a02"
ONE = "resources=VCPU:1"


def candidates(
    query: str, version: int = 39, options: ApiOptions | None = None
) -> CandidateRequest:
    return candidate_request(Params(query), version, options or ApiOptions())


def labels(*required: str, forbidden: str = "") -> Labels:
    """Each argument is one set of alternatives, comma separated."""
    return Labels(
        tuple(frozenset(names.split(",")) for names in required),
        frozenset(forbidden.split(",")) if forbidden else frozenset(),
    )


def group(suffix: str = "", **parts: Any) -> RequestGroup:
    return RequestGroup(suffix=suffix, **{"resources": {"VCPU": 1}, **parts})


@pytest.mark.parametrize(
    ("query", "version", "groups"),
    [
        (ONE, 10, (group(),)),
        (f"{ONE}&{ONE}", 10, (group(),)),
        (f"{ONE}&required=A", 17, (group(traits=labels("A")),)),
        (f"{ONE}&member_of={U1}", 21, (group(member_of=labels(U1)),)),
        ("resources1=VCPU:1", 25, (group("1"),)),
        (f"{ONE}&in_tree=%20{U1}%20", 31, (group(in_tree=U1),)),
        ("resources_required1=VCPU:1", 33, (group("_required1"),)),
        (f"{ONE}&required=A&required=B", 38, (group(traits=labels("B")),)),
        (
            f"{ONE}&required=in:A,B&required=!A",
            39,
            (group(traits=labels("A,B", forbidden="A")),),
        ),
        (
            "resources_a=VCPU:1&required_b=T&same_subtree=_a,_b&group_policy=none",
            36,
            (group("_a"), group("_b", resources={}, traits=labels("T"))),
        ),
        ("resources=VCPU:9999999999", 10, (group(resources={"VCPU": MAX_INT + 1}),)),
    ],
)
def test_groups(query: str, version: int, groups: tuple[RequestGroup, ...]) -> None:
    assert candidates(query, version).groups == groups


def test_parameters_of_the_whole_request() -> None:
    query = (
        "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&limit=7&limit=9"
        "&root_required=A,!B&same_subtree=1,%202&same_subtree=2"
    )
    request = candidates(query)
    assert request.limit == 7, "the first of a repeated limit is used"
    assert request.isolate
    assert request.root_traits == labels("A", forbidden="B")
    assert request.same_subtrees == (frozenset("12"), frozenset("2"))
    assert request.nested
    assert not candidates(ONE, 28).nested


@pytest.mark.parametrize(
    ("limit", "meaning"), [("1", 1), ("9" * 18, 10**18 - 1), ("9" * 5000, None)]
)
def test_huge_limit_is_no_limit(limit: str, meaning: int | None) -> None:
    assert candidates(f"{ONE}&limit={limit}").limit == meaning


def test_options_reach_the_request() -> None:
    options = ApiOptions(
        max_allocation_candidates=5,
        allocation_candidates_generation_strategy="breadth-first",
        randomize_allocation_candidates=True,
    )
    request = candidates(ONE, options=options)
    assert request.generation_limit == 5
    assert request.breadth_first
    assert request.randomize
    assert candidates(ONE).generation_limit is None


UNDEFINED = "placement.undefined_code"
BAD_VALUE = "placement.query.bad_value"
POLICY = (
    'The "group_policy" parameter is required when specifying more than one '
    '"resources{N}" parameter.'
)
ORPHANS = (
    "All traits parameters must be associated with resources.  Found the following "
    "orphaned traits keys: "
)
STRAYS = (
    "Resourceless suffixed group request should be specified in `same_subtree` query "
    "param: bad group(s) - "
)
CONFLICT = (
    "Conflicting required and forbidden traits found in the following traits keys: "
)


@pytest.mark.parametrize(
    ("query", "version", "code", "detail"),
    [
        ("", 10, UNDEFINED, "'resources' is a required property"),
        (f"{ONE}&limit=1", 15, UNDEFINED, "('limit' was unexpected)"),
        (f"{ONE}&limit=0", 16, UNDEFINED, "'0' does not match"),
        (f"{ONE}&limit=a&limit=1", 16, UNDEFINED, "'a' does not match"),
        (f"{ONE}&limit=1&limit=a", 16, UNDEFINED, "'a' does not match"),
        (f"{ONE}&required=A", 16, UNDEFINED, "('required' was unexpected)"),
        (f"{ONE}&member_of={U1}", 20, UNDEFINED, "('member_of' was unexpected)"),
        ("resources1=VCPU:1", 24, UNDEFINED, "'resources' is a required property"),
        ("resources01=VCPU:1", 25, UNDEFINED, "does not match any of the regexes"),
        ("resources_a=VCPU:1", 32, UNDEFINED, "does not match any of the regexes"),
        (f"resources{'a' * 65}=VCPU:1", 33, UNDEFINED, "does not match any of"),
        (f"{ONE}&in_tree={U1}", 30, UNDEFINED, "'in_tree' does not match any of"),
        (f"{ONE}&group_policy=x", 25, UNDEFINED, "'x' is not one of"),
        (
            f"{ONE}&group_policy=x&group_policy=none",
            25,
            UNDEFINED,
            "'x' is not one of",
        ),
        (f"{ONE}&root_required=A", 34, UNDEFINED, "'root_required' does not match"),
        (f"{ONE}&same_subtree=1", 35, UNDEFINED, "'same_subtree' does not match"),
        (f"{ONE}&in_tree=x", 31, UNDEFINED, "to be a format of uuid. Got: x"),
        (
            f"resources1=VCPU:1&member_of1={U1}&member_of1=!{U2}",
            25,
            UNDEFINED,
            "Forbidden member_of1 parameters are not supported in the specified",
        ),
        (f"required1=A&{ONE}", 25, UNDEFINED, f"{ORPHANS}required1"),
        (
            f"member_of1={U1}&{ONE}",
            25,
            UNDEFINED,
            "orphaned member_of keys: member_of1",
        ),
        (
            f"in_tree={U1}",
            31,
            UNDEFINED,
            "All request groups must specify resources.",
        ),
        ("", 25, UNDEFINED, "At least one request group (`resources` or"),
        (
            "",
            36,
            "placement.query.missing_value",
            "There must be at least one resources or resources[$S] parameter.",
        ),
        (
            f"{ONE}&root_required=A&root_required=B",
            35,
            "placement.query.duplicate_key",
            "Query parameter 'root_required' may be specified only once.",
        ),
        (
            f"{ONE}&root_required=B,A,!A,!B",
            35,
            BAD_VALUE,
            "Conflicting required and forbidden traits found in root_required: A, B",
        ),
        (
            f"{ONE}&root_required=in:A",
            39,
            UNDEFINED,
            "only supported since microversion 1.39. Got: in:A",
        ),
        (
            f"{ONE}&same_subtree=1,",
            36,
            BAD_VALUE,
            "Empty string (unsuffixed group) can not be specified in `same_subtree`",
        ),
        (f"{ONE}&required1=A", 36, BAD_VALUE, f"{STRAYS}['1']."),
        ("required=A&resources1=VCPU:1", 36, BAD_VALUE, f"{STRAYS}['']."),
        (
            f"{ONE}&same_subtree=_z",
            36,
            BAD_VALUE,
            "Real suffixes should be specified in `same_subtree`: ['_z'] not found in "
            "[''].",
        ),
        (f"{ONE}&required=A,!A", 22, UNDEFINED, f"{CONFLICT}required: (A)"),
        (
            f"{ONE}&required=in:B,A&required=!A,!B",
            39,
            UNDEFINED,
            f"{CONFLICT}required: (A, B)",
        ),
        ("resources1=VCPU:1&resources2=VCPU:1", 25, UNDEFINED, POLICY),
        (
            "resources1=VCPU:1&required2=A&same_subtree=1,2",
            36,
            UNDEFINED,
            POLICY,
        ),
        # What wins when there are several faults.
        (f"{ONE}&limit=0&x=1", 36, UNDEFINED, "'x' does not match any of the regexes"),
        (f"{ONE}&root_required=&resources1=", 36, UNDEFINED, "empty trait in: "),
        ("required=&resources=", 36, UNDEFINED, "empty trait in: "),
        ("resources=&required=", 36, UNDEFINED, "Got: empty string."),
        (f"{ONE}&required1=A,!A&same_subtree=9", 36, BAD_VALUE, STRAYS),
        ("resources1=VCPU:1&resources2=VCPU:1&required1=A,!A", 36, UNDEFINED, CONFLICT),
    ],
)
def test_refused_candidate_queries(
    query: str, version: int, code: str, detail: str
) -> None:
    with pytest.raises(Problem) as refusal:
        candidates(query, version)
    assert refusal.value.status == 400
    assert refusal.value.code == code
    assert detail in refusal.value.detail
