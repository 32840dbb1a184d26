"""The search answers what brute force answers, on generated worlds."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantt.model.answers import Candidate
from gantt.model.commands import Inventory
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates import flat_search
from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.search import search
from gantt.placement.candidates.search_answer import candidates
from gantt.placement.candidates.survey import survey
from tests.examples import examples
from tests.placement.candidates.reference import Answer, Reference
from tests.placement.candidates.worlds import SHARES, Node, viable, world

CLASSES = ("VCPU", "DISK_GB", "SRIOV_NET_VF")
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2")
AGGREGATES = ("agg-1", "agg-2")


@st.composite
def inventories(draw: st.DrawFn) -> dict[str, Inventory]:
    found = {}
    for name in CLASSES:
        if draw(st.booleans()):
            total = draw(st.integers(1, 6))
            found[name] = Inventory(
                total,
                reserved=draw(st.integers(0, total - 1)),
                min_unit=draw(st.integers(1, 2)),
                max_unit=draw(st.integers(1, 7)),
                step_size=draw(st.integers(1, 2)),
                allocation_ratio=draw(st.sampled_from((1.0, 1.15, 2.0))),
            )
    return found


@st.composite
def worlds(draw: st.DrawFn) -> list[Node]:
    is_nested, has_sharing = draw(st.booleans()), draw(st.booleans())
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 6))):
        parents = [None, *(n.uuid for n in nodes)] if is_nested else [None]
        names = (*TRAITS, SHARES) if has_sharing else TRAITS
        has = draw(inventories())
        nodes.append(
            Node(
                f"n{number}",
                draw(st.sampled_from(parents)),
                has,
                tuple(draw(st.sets(st.sampled_from(names)))),
                tuple(draw(st.sets(st.sampled_from(AGGREGATES)))),
                _usable(has) if draw(st.booleans()) else {},
            )
        )
    return nodes


def _usable(has: dict[str, Inventory]) -> dict[str, int]:
    """One step of each class, where that is allowed."""
    return {
        name: i.step_size
        for name, i in has.items()
        if i.min_unit <= i.step_size <= min(i.max_unit, i.total - i.reserved)
    }


def labels(names: tuple[str, ...]) -> st.SearchStrategy[Labels]:
    some = st.frozensets(st.sampled_from(names), min_size=1)
    return st.builds(
        Labels,
        st.lists(some, max_size=2).map(tuple),
        st.frozensets(st.sampled_from(names), max_size=1),
    )


def rarely(values: st.SearchStrategy[Labels]) -> st.SearchStrategy[Labels]:
    return st.one_of(st.just(Labels()), st.just(Labels()), values)


@st.composite
def requests(draw: st.DrawFn, nodes: list[Node]) -> CandidateRequest:
    nested = draw(st.booleans())
    has_plain = draw(st.booleans())
    suffixes = [""] if has_plain else []
    suffixes += ["1", "2", "3"][: draw(st.integers(0 if has_plain else 1, 3))]
    amounts = st.dictionaries(
        st.sampled_from(CLASSES),
        st.integers(1, 3),
        min_size=1,
        max_size=2,
    )
    uuids = [node.uuid for node in nodes]
    groups = []
    for suffix in suffixes:
        bare = nested and suffix and draw(st.integers(0, 4)) == 0
        groups.append(
            RequestGroup(
                suffix,
                {} if bare else draw(amounts),
                draw(rarely(labels(TRAITS))),
                draw(rarely(labels(AGGREGATES))),
                draw(st.sampled_from([None, None, None, *uuids])),
            )
        )
    named = [suffix for suffix in suffixes if suffix]
    subtrees = st.frozensets(st.sampled_from(named or [""]), min_size=1)
    return CandidateRequest(
        tuple(groups),
        isolate=draw(st.booleans()),
        root_traits=draw(rarely(labels((*TRAITS, SHARES)))) if nested else Labels(),
        same_subtrees=tuple(draw(st.lists(subtrees, max_size=2)))
        if nested and named
        else (),
        nested=nested,
        breadth_first=draw(st.booleans()),
    )


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Node], CandidateRequest]:
    nodes = draw(worlds())
    return nodes, draw(requests(nodes))


def plain(candidate: Candidate) -> Answer:
    return (
        frozenset(
            (uuid, rc, amount)
            for uuid, amounts in candidate.allocations.items()
            for rc, amount in amounts.items()
        ),
        frozenset((s, u) for s, uuids in candidate.mappings.items() for u in uuids),
    )


@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(questions())
def test_search_answers_what_brute_force_answers(
    question: tuple[list[Node], CandidateRequest],
) -> None:
    nodes, request = question
    state, reference = world(nodes), Reference(nodes)
    expected = reference.answers(request)
    answer = search(state, request)
    found = [plain(candidate) for candidate in answer.candidates]
    assert set(found) == expected
    assert len(found) == len(expected), "no candidate twice"
    assert set(answer.summaries) == reference.summarized(request, expected)
    few = flat_search.first(state, request, 2, small=0)
    assert few is None or [c.allocations for c in answer.candidates[:2]] == [
        c.allocations
        for c in candidates(state, few[0], [(row,) * len(few[0]) for row in few[1]])
    ]
    # What a scheduler asks, tree by tree, comes to the same.
    surveyed = survey(state, request, Budget())
    by_tree = [
        plain(candidate)
        for row in viable(state, request)
        for candidate in surveyed.candidates(row, Budget())
    ]
    assert set(by_tree) == expected
