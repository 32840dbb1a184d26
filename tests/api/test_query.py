"""Query strings at each microversion, and the texts of refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantt.api.wire.candidate_query import candidate_request
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params, provider_query, trait_query, usage_query
from gantt.conf import ApiOptions
from gantt.model.requests import Labels, ProviderQuery, TraitQuery, UsageQuery
from tests.examples import examples

U1 = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a01"
U2 = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a02"
ONE = "resources=VCPU:1"


def providers(query: str, version: int = 39) -> ProviderQuery:
    return provider_query(Params(query), version)


def labels(*required: str, forbidden: str = "") -> Labels:
    """Each argument is one set of alternatives, comma separated."""
    return Labels(
        tuple(frozenset(names.split(",")) for names in required),
        frozenset(forbidden.split(",")) if forbidden else frozenset(),
    )


# -------------------------------------------------------------------------- providers


@pytest.mark.parametrize(
    ("query", "version", "meaning"),
    [
        ("", 0, ProviderQuery()),
        ("&&", 0, ProviderQuery()),
        ("name=", 0, ProviderQuery()),
        ("name=a&name=b", 0, ProviderQuery(name="b")),
        ("name=a+b%26%C3%A9", 0, ProviderQuery(name="a b&é")),
        ("name=\xc3\xa9", 0, ProviderQuery(name="é")),
        (f"uuid={U1}", 0, ProviderQuery(uuid=U1)),
        (f"uuid={U1.upper()}", 0, ProviderQuery(uuid=U1.upper())),
        (f"member_of={U1}", 3, ProviderQuery(member_of=labels(U1))),
        (f"member_of=in:{U1},{U2}", 3, ProviderQuery(member_of=labels(f"{U1},{U2}"))),
        (
            f"member_of={U1}&member_of={U2}",
            24,
            ProviderQuery(member_of=labels(U1, U2)),
        ),
        (f"member_of=!{U1}", 32, ProviderQuery(member_of=labels(forbidden=U1))),
        (
            f"member_of=!in:{U1},{U2}",
            32,
            ProviderQuery(member_of=labels(forbidden=f"{U1},{U2}")),
        ),
        ("resources=VCPU:2,A:%201", 4, ProviderQuery(resources={"VCPU": 2, "A": 1})),
        ("resources=VCPU:1,VCPU:3", 4, ProviderQuery(resources={"VCPU": 3})),
        (f"in_tree={U1}", 14, ProviderQuery(in_tree=U1)),
        ("required=A,%20B", 18, ProviderQuery(traits=labels("A", "B"))),
        (
            "required=A,!B,!!C",
            22,
            ProviderQuery(traits=labels("A", forbidden="B,C")),
        ),
        ("required=A&required=B", 38, ProviderQuery(traits=labels("B"))),
        (
            "required=A&required=in:B,C&required=!D",
            39,
            ProviderQuery(traits=labels("A", "B,C", forbidden="D")),
        ),
    ],
)
def test_provider_queries(query: str, version: int, meaning: ProviderQuery) -> None:
    assert providers(query, version) == meaning


BAD_REQUIRED = "Invalid query string parameters: Expected 'required' parameter value"
BAD_MEMBER = (
    "Invalid query string parameters: Expected 'member_of' parameter to contain valid "
    "UUID(s). Got: "
)
BAD_RESOURCES = (
    "Badly formed resources parameter. Expected resources query string parameter in "
    "form: ?resources=VCPU:2,MEMORY_MB:1024. Got: "
)


@pytest.mark.parametrize(
    ("query", "version", "detail"),
    [
        ("x=1", 39, "Additional properties are not allowed ('x' was unexpected)"),
        (f"member_of={U1}", 2, "'member_of' was unexpected"),
        (ONE, 3, "'resources' was unexpected"),
        (f"in_tree={U1}", 13, "'in_tree' was unexpected"),
        ("required=A", 17, "'required' was unexpected"),
        ("uuid=x", 0, "'x' is not a 'uuid'"),
        (f"uuid={U1.replace('-', '')}", 0, "is not a 'uuid'"),
        ("in_tree=", 14, "'' is not a 'uuid'"),
        ("x=1&required=", 39, "'x' was unexpected"),
        ("name=%ff", 0, "Invalid query string parameters: 'utf-8' codec can't decode"),
        ("%ff=1", 0, "Invalid query string parameters: 'utf-8' codec can't decode"),
        ("resources=", 4, f"{BAD_RESOURCES}empty string."),
        ("resources=VCPU", 4, f"{BAD_RESOURCES}VCPU."),
        ("resources=VCPU:1:2", 4, f"{BAD_RESOURCES}VCPU:1:2."),
        (
            "resources=VCPU:a",
            4,
            "Requested resource VCPU expected positive integer amount. Got: a.",
        ),
        (f"resources=VCPU:{'9' * 5000}", 4, "expected positive integer amount"),
        (
            "resources=VCPU:0",
            4,
            "Requested resource VCPU requires amount >= 1. Got: 0.",
        ),
        ("member_of=x", 3, f"{BAD_MEMBER}x"),
        ("member_of=in:", 3, BAD_MEMBER),
        (
            f"member_of={U1},{U2}",
            3,
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' "
            f"keyword using the valid microversion. Got: {U1},{U2}",
        ),
        (
            f"member_of={U1}&member_of={U2}",
            23,
            "Multiple member_of parameters are not supported",
        ),
        (
            f"member_of=!{U1}",
            31,
            "Forbidden member_of parameters are not supported in the specified "
            "microversion",
        ),
        (
            "required=",
            18,
            f"{BAD_REQUIRED} of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. "
            "Got an empty trait in: ",
        ),
        (
            "required=A,,B",
            22,
            f"{BAD_REQUIRED} of the form: HW_CPU_X86_VMX,!CUSTOM_MAGIC. "
            "Got an empty trait in: A,,B",
        ),
        (
            "required=!A",
            21,
            f"{BAD_REQUIRED} of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: !A",
        ),
        (
            "required=in:A",
            38,
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since "
            "microversion 1.39. Got: in:A",
        ),
        (
            "required=in:A,!B",
            39,
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden "
            "traits. Got: in:A,!B",
        ),
        (
            "required=in:A,",
            39,
            f"{BAD_REQUIRED} of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. "
            "Got an empty trait in: in:A,",
        ),
    ],
)
def test_refused_provider_queries(query: str, version: int, detail: str) -> None:
    with pytest.raises(Problem) as refusal:
        providers(query, version)
    assert refusal.value.status == 400
    assert detail in refusal.value.detail


# ------------------------------------------------------------------- traits and usages


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("", TraitQuery()),
        ("name=in:A,B", TraitQuery(names=frozenset("AB"))),
        ("name=startswith:CUSTOM_", TraitQuery(prefix="CUSTOM_")),
        ("name=other:A", TraitQuery()),
        ("associated=TRUE", TraitQuery(is_associated=True)),
        (
            "associated=false&name=in:A",
            TraitQuery(names=frozenset("A"), is_associated=False),
        ),
    ],
)
def test_trait_queries(query: str, meaning: TraitQuery) -> None:
    assert trait_query(Params(query)) == meaning


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("x=1", "'x' was unexpected"),
        ("name=A&associated=x", "Badly formatted name parameter."),
        ("associated=1", 'The query parameter "associated" only accepts'),
    ],
)
def test_refused_trait_queries(query: str, detail: str) -> None:
    with pytest.raises(Problem) as refusal:
        trait_query(Params(query))
    assert detail in refusal.value.detail


@pytest.mark.parametrize(
    ("query", "version", "meaning"),
    [
        ("project_id=p", 9, UsageQuery("p")),
        ("project_id=p&user_id=u", 37, UsageQuery("p", "u")),
        ("project_id=p", 38, UsageQuery("p", by_type=True)),
        (
            "project_id=p&consumer_type=allx",
            38,
            UsageQuery("p", consumer_type="allx", by_type=True),
        ),
        (
            "project_id=p&consumer_type=unknown",
            38,
            UsageQuery("p", consumer_type="unknown", by_type=True),
        ),
    ],
)
def test_usage_queries(query: str, version: int, meaning: UsageQuery) -> None:
    assert usage_query(Params(query), version) == meaning


@pytest.mark.parametrize(
    ("query", "version", "detail"),
    [
        ("", 9, "'project_id' is a required property"),
        ("project_id=", 9, "'' should be non-empty"),
        (f"project_id={'p' * 256}", 9, "is too long"),
        ("project_id=p&consumer_type=A", 37, "'consumer_type' was unexpected"),
        ("project_id=p&consumer_type=a", 38, "'a' does not match"),
    ],
)
def test_refused_usage_queries(query: str, version: int, detail: str) -> None:
    with pytest.raises(Problem) as refusal:
        usage_query(Params(query), version)
    assert detail in refusal.value.detail


KEYS = (
    "resources resources1 resources_x required required1 member_of member_of1 in_tree "
    "in_tree1 limit group_policy root_required same_subtree name uuid associated "
    "project_id user_id consumer_type x %ff"
).split()
VALUES = (
    "VCPU:1", "VCPU:0", "VCPU:99999999999999999999", "", "A", "!A", "in:A,B", "A,!A",
    U1, f"!{U1}", f"in:{U1},{U2}", "0", "1", "a", "none", "isolate", "1,_x", "in:",
    "startswith:%25", "true", "%00", "%C3%A9", "%ff", "!", ",", ":", "all", "+",
)  # fmt: skip


@settings(max_examples=examples(100), deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=5
    ),
    version=st.integers(0, 39),
)
def test_any_query_is_parsed_or_refused(
    pairs: list[tuple[str, str]], version: int
) -> None:
    query = "&".join(f"{key}={value}" for key, value in pairs)
    for read in (
        lambda: providers(query, version),
        lambda: trait_query(Params(query)),
        lambda: usage_query(Params(query), version),
        lambda: candidate_request(Params(query), version, ApiOptions()),
    ):
        try:
            read()
        except Problem as refusal:
            assert refusal.status == 400
            assert refusal.detail
