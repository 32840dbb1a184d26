"""Why a request has no candidates: drawn cases, and counts against brute force."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from gantt.errors import Invalid, UnknownName
from gantt.model.commands import Inventory
from gantt.model.diagnosis import Constraint, Count, Diagnosis, Relaxation
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates.explain import ExplanationBudget, explain
from gantt.placement.candidates.joins import links, without_link
from gantt.placement.candidates.relaxation import dropped, relaxed
from gantt.placement.candidates.search import search
from tests.examples import examples
from tests.placement.candidates.reference import Reference, _has_room
from tests.placement.candidates.test_against_reference import questions
from tests.placement.candidates.worlds import SHARES, Node, ask, group, node, world

AVX, AVX2 = "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"


class Case(Struct, frozen=True):
    """``lacks``: what the nearest tree lacks; ``relaxation``: its text."""

    name: str
    nodes: list[Node]
    request: CandidateRequest
    lacks: list[str]
    relaxation: str | None


HOSTS = [
    node("h1", VCPU=Inventory(9, max_unit=16, allocation_ratio=4.0), used={"VCPU": 9}),
    node("h2", VCPU=4, traits=AVX, aggregates="rack-1"),
    node("h3", VCPU=2, MEMORY_MB=64),
]
UNITS = [
    node("coarse", VCPU=Inventory(16, min_unit=4, max_unit=8)),
    node("steps", DISK_GB=Inventory(16, step_size=3)),
]
NUMA = [
    node("host", MEMORY_MB=64),
    node("numa-0", "host", VCPU=4, traits=AVX),
    node("numa-1", "host", VCPU=6),
]
SHARED = [
    node("host", VCPU=4, aggregates="rack-1"),
    node("disk", DISK_GB=100, traits=SHARES, aggregates="rack-1", used={"DISK_GB": 90}),
]
CASES = [
    Case(
        "too much of a class",
        HOSTS,
        ask(group(VCPU=24)),
        ["h1 gives at most 16 VCPU at once (24 asked)"],
        "ask for 16 instead of 24 VCPU",
    ),
    Case(
        "less than is asked is left",
        HOSTS[1:],
        ask(group(VCPU=6)),
        ["h2: 0 of 4 VCPU in use (6 asked)"],
        "ask for 4 instead of 6 VCPU",
    ),
    Case(
        "no provider has all classes",
        HOSTS,
        ask(group(VCPU=4, MEMORY_MB=32)),
        ["h3: 0 of 2 VCPU in use (4 asked)"],
        "ask for 2 instead of 4 VCPU",
    ),
    Case(
        "the smaller share of what is asked",
        [
            node("h1", VCPU=6, MEMORY_MB=65536),
            node("h2", VCPU=8, MEMORY_MB=Inventory(32768)),
        ],
        ask(group(VCPU=8, MEMORY_MB=40960)),
        ["h2: 0 of 32 GiB MEMORY_MB in use (40 GiB asked)"],
        "ask for 32 GiB instead of 40 GiB MEMORY_MB",
    ),
    Case(
        "no such inventory at all",
        HOSTS,
        ask(group(VCPU=1, VGPU=1)),
        ["h1 has no VGPU (1 asked)"],
        "ask without 1 VGPU",
    ),
    Case(
        "a trait that only others bear",
        HOSTS,
        ask(group(VCPU=1, required=AVX2)),
        [f"h1 lacks trait {AVX2}"],
        f"ask without trait {AVX2}",
    ),
    Case(
        "a trait and an amount that never meet",
        HOSTS,
        ask(group(VCPU=5, required=f"{AVX}|{AVX2}")),
        ["h2: 0 of 4 VCPU in use (5 asked)"],
        "ask for 4 instead of 5 VCPU",
    ),
    Case(
        "a forbidden trait",
        HOSTS[1:2],
        ask(group("_A", VCPU=1, forbidden=AVX)),
        [f"h2 bears the forbidden trait {AVX}"],
        f"ask without the condition: not trait {AVX} in group _A",
    ),
    Case(
        "an aggregate without members",
        HOSTS,
        ask(group(VCPU=1, member_of="rack-9")),
        ["h1 is not in aggregate rack-9"],
        "ask without the condition: in aggregate rack-9",
    ),
    Case(
        "a forbidden aggregate",
        HOSTS[1:2],
        ask(group(VCPU=1, not_member_of="rack-1")),
        ["h2 or its root is in the forbidden aggregate rack-1"],
        "ask without the condition: not in aggregate rack-1",
    ),
    Case(
        "the wrong tree",
        HOSTS[:2],
        ask(group(VCPU=10, in_tree="h2")),
        ["h2: 0 of 4 VCPU in use (10 asked)"],
        "ask for 4 instead of 10 VCPU",
    ),
    Case(
        "a tree that there is not",
        HOSTS[:1],
        ask(group(VCPU=10, in_tree="h9")),
        ["h1 is not in the tree of h9"],
        "ask without the condition: in the tree of h9",
    ),
    Case(
        "a root without the trait",
        NUMA,
        ask(group(VCPU=1), root_required=AVX),
        [f"host lacks trait {AVX}"],
        f"ask without the condition: the root has trait {AVX}",
    ),
    Case(
        "a root with the trait",
        HOSTS[1:2],
        ask(group(VCPU=1), root_forbidden=AVX),
        [f"h2 bears the forbidden trait {AVX}"],
        f"ask without the condition: the root has not trait {AVX}",
    ),
    Case(
        "fewer than the least",
        UNITS,
        ask(group(VCPU=2)),
        ["coarse gives at least 4 VCPU at once (2 asked)"],
        None,
    ),
    Case(
        "between two steps",
        UNITS,
        ask(group(DISK_GB=8)),
        ["steps gives DISK_GB in steps of 3 (8 asked)"],
        "ask for 6 instead of 8 DISK_GB",
    ),
    Case(
        "a trait that no provider with room has",
        NUMA,
        ask(group(VCPU=6, required=AVX)),
        [f"host lacks trait {AVX} on any provider that could give"],
        "ask for 4 instead of 6 VCPU",
    ),
    Case(
        "the nearest child speaks for its tree",
        NUMA,
        ask(group(VCPU=8, MEMORY_MB=8)),
        ["numa-1: 0 of 6 VCPU in use (8 asked)"],
        "ask for 6 instead of 8 VCPU",
    ),
    Case(
        "a sharing provider speaks for trees around it",
        SHARED,
        ask(group(VCPU=2, DISK_GB=20)),
        ["disk: 90 of 100 DISK_GB in use (20 asked)"],
        "ask for 10 instead of 20 DISK_GB",
    ),
    Case(
        "groups that contend for one provider",
        HOSTS[1:2],
        ask(group("_A", VCPU=3), group("_B", VCPU=3)),
        ["h2 meets each group on its own, but not all of them together"],
        "ask for 1 instead of 3 VCPU in group _A",
    ),
    Case(
        "not enough providers to isolate",
        HOSTS[1:2],
        ask(group("_A", VCPU=1), group("_B", VCPU=1), isolate=True),
        ["h2 meets the groups, but not on different providers"],
        "ask with group_policy none",
    ),
    Case(
        "two cells are no subtree",
        NUMA,
        ask(group("_A", VCPU=6), group("_B", required=AVX), same_subtree=["_A _B"]),
        ["host meets groups _A, _B, but not in one subtree"],
        "ask for 4 instead of 6 VCPU in group _A",
    ),
    Case(
        "two cells are no subtree, whatever the amount",
        NUMA,
        ask(
            group("_A", VCPU=1, required=AVX),
            group("_B", VCPU=1, forbidden=AVX),
            same_subtree=["_A _B"],
        ),
        ["host meets groups _A, _B, but not in one subtree"],
        "ask without the condition: groups _A, _B in one subtree",
    ),
    Case(
        "one provider per tree before 1.29",
        NUMA,
        ask(group(VCPU=1, MEMORY_MB=1), nested=False),
        [
            "host could only supply it from several providers, which microversions "
            "before 1.29 do not support"
        ],
        "ask at microversion 1.29 or later",
    ),
    Case("no providers", [], ask(group(VCPU=1)), [], None),
    Case(
        "a group that says only what it is not",
        HOSTS[:1],
        ask(group("_A", VCPU=1), group("_B", forbidden=AVX), same_subtree=["_A _B"]),
        ["h1 was not asked for anything: the group has no resources or constraints"],
        None,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_says_what_is_near_and_what_would_help(case: Case) -> None:
    state = world(case.nodes)
    assert not search(state, case.request).candidates
    found = explain(state, case.request)
    assert found.has_candidates is False
    assert not found.is_truncated
    assert [lack.text for miss in found.misses[:1] for lack in miss.lacks] == case.lacks
    helps = found.relaxation
    assert (helps and helps.text) == case.relaxation
    if helps is not None:
        assert search(state, relaxed(case.request, helps)).candidates


def test_counts_what_passed_and_what_one_constraint_alone_removed() -> None:
    request = ask(group(VCPU=4, required=AVX, not_member_of="rack-1"))
    found = explain(world(HOSTS), request)
    (only,) = found.groups
    assert [(c.text, c.passed, c.removed_alone) for c in only.constraints] == [
        ("4 VCPU", Count(2, 2), Count(0, 0)),
        (f"trait {AVX}", Count(1, 1), Count(1, 1)),
        ("not in aggregate rack-1", Count(2, 2), Count(1, 1)),
    ]
    assert (only.passed, only.removed_alone) == (Count(0, 0), Count(None, 3))
    assert (found.providers, found.trees, found.viable) == (3, 3, 0)


def test_a_request_with_candidates_is_counted_and_needs_no_advice() -> None:
    found = explain(world(HOSTS), ask(group(VCPU=4), limit=1))
    assert found.has_candidates
    assert found.groups[0].passed == Count(2, 2)
    assert (found.viable, found.walked, found.whole) == (2, 2, ())
    assert (found.misses, found.relaxation) == ((), None)


def test_unknown_names_are_refused_as_by_the_search_or_named() -> None:
    state = world(HOSTS)
    for request in (ask(group(CUSTOM_X=1)), ask(group(VCPU=1, required="CUSTOM_X"))):
        with pytest.raises(UnknownName, match="CUSTOM_X"):
            search(state, request)
        with pytest.raises(UnknownName, match="CUSTOM_X"):
            explain(state, request)
    # Here the search has its answer before it meets the name.
    request = ask(group(VCPU=1, member_of="rack-9", required="CUSTOM_X", in_tree="h9"))
    assert not search(state, request).candidates
    found = {c.kind: c.unknown for c in explain(state, request).groups[0].constraints}
    assert found == {
        "amount": (),
        "required": ("CUSTOM_X",),
        "member_of": ("rack-9",),
        "in_tree": ("h9",),
    }


def test_everything_has_a_limit() -> None:
    state = world([node(f"h{n}", VCPU=1) for n in range(9)])
    request = ask(group("_A", VCPU=1), group("_B", VCPU=1), isolate=True)
    with pytest.raises(Invalid, match="3 constraints, and at most 2"):
        explain(state, request, limits=ExplanationBudget(constraints=2))
    found = explain(state, request, limits=ExplanationBudget(walks=8, misses=2))
    assert (found.viable, found.walked, len(found.misses)) == (9, 4, 2)
    assert not found.is_truncated
    assert found.relaxation is not None
    found = explain(state, request, limits=ExplanationBudget(searches=0))
    assert (found.relaxation, found.is_truncated) == (None, True)
    untried = (
        explain(state, request, limits=ExplanationBudget(walks=2))
        .misses[1]
        .lacks[0]
        .text
    )
    assert untried == "h1 meets each group on its own; combinations were not tried"


def test_a_spent_budget_is_told() -> None:
    state = world(NUMA)
    cells = [group(f"_{name}", VCPU=1) for name in "ABC"]
    request = ask(*cells, isolate=True, same_subtree=["_A _B"])
    found = explain(state, request)
    assert (found.has_candidates, found.walked, found.is_truncated) == (False, 1, False)
    found = explain(state, structs.replace(request, isolate=False), budget=1)
    assert (found.has_candidates, found.walked, found.is_truncated) == (None, 0, True)
    assert found.misses[0].lacks[0].text.endswith("combinations were not tried")


# -- against brute force --------------------------------------------------------------

Served = tuple[set[str], set[str]]


class Brute:
    """Which provider serves what, by definition: constraint by constraint."""

    def __init__(self, nodes: list[Node]) -> None:
        self.reference = Reference(nodes)
        self.nodes = nodes
        self.anchors = [node for node in nodes if node.parent is None]

    def meets(self, each: Node, one: Constraint) -> bool:
        names = set(one.names)
        if one.kind == "amount":
            assert one.amount is not None
            return _has_room(each, one.names[0], one.amount)
        if one.kind in ("required", "root_required"):
            return bool(names & set(each.traits))
        if one.kind in ("forbidden", "root_forbidden"):
            return not names & set(each.traits)
        if one.kind == "member_of":
            return bool(names & set(each.aggregates))
        if one.kind == "not_member_of":
            return not names & set(each.aggregates)
        if one.kind == "in_tree":
            return self.reference.is_in_tree(each, one.names[0])
        assert one.kind == "nothing"
        return False

    def served(self, is_spread: bool, kept: Collection[Constraint]) -> Served:
        """Uuids of providers and of roots."""
        providers, trees = set(), set()
        for anchor in self.anchors:
            near = [n for n in self.nodes if self.reference.is_near(n, anchor)]
            if is_spread:
                pools = self.pools(near, anchor, kept)
                givers = [each for pool in pools for each in pool]
                is_met = all(pools) and all(
                    any(self.meets(each, one) for each in givers)
                    for one in kept
                    if one.kind == "required"
                )
            else:
                givers = [n for n in near if all(self.meets(n, one) for one in kept)]
                is_met = bool(givers)
            if is_met:
                trees.add(anchor.uuid)
                providers |= {each.uuid for each in givers}
        return providers, trees

    def pools(
        self, near: list[Node], anchor: Node, kept: Collection[Constraint]
    ) -> list[list[Node]]:
        able = [each for each in near if self.may_give(each, anchor, kept)]
        amounts = [one for one in kept if one.kind == "amount"]
        if not amounts:
            return [able]
        return [[each for each in able if self.meets(each, one)] for one in amounts]

    def may_give(self, each: Node, anchor: Node, kept: Collection[Constraint]) -> bool:
        by_kind = {
            kind: [one for one in kept if one.kind == kind]
            for kind in ("forbidden", "in_tree", "member_of", "not_member_of")
        }
        is_own = self.reference.root(each) == anchor
        inside = [each, anchor] if is_own else [each]
        return (
            all(self.meets(each, one) for one in by_kind["forbidden"])
            and all(is_own and self.meets(each, one) for one in by_kind["in_tree"])
            and any(
                all(self.meets(at, one) for one in by_kind["member_of"])
                for at in inside
            )
            and all(
                self.meets(at, one)
                for one in by_kind["not_member_of"]
                for at in (each, anchor)
            )
        )

    def fits(self, request: CandidateRequest, anchor: Node) -> bool:
        """Whether there is an answer in and around one tree, roots' traits aside."""
        entries = [list(self.reference.entries(g, anchor)) for g in request.groups]
        return any(
            self.reference.holds(request, chosen) for chosen in product(*entries)
        )


def counted(served: Served) -> Count:
    return Count(len(served[0]), len(served[1]))


def times(request: CandidateRequest, factor: int) -> CandidateRequest:
    groups = (
        structs.replace(
            each, resources={name: n * factor for name, n in each.resources.items()}
        )
        for each in request.groups
    )
    return structs.replace(request, groups=tuple(groups))


def lowered(request: CandidateRequest) -> Iterator[Relaxation]:
    for each in request.groups:
        for name, amount in each.resources.items():
            for less in range(1, amount):
                yield Relaxation("amount", each.suffix, (name,), amount, less)


def check_group(brute: Brute, asked: RequestGroup, found: Diagnosis) -> set[str]:
    """The trees that meet the group."""
    (one,) = (each for each in found.groups if each.suffix == asked.suffix)
    is_spread = not asked.suffix and bool(asked.resources)
    whole = brute.served(is_spread, one.constraints)
    assert one.passed == counted(whole)
    for constraint in one.constraints:
        rest = [other for other in one.constraints if other is not constraint]
        providers, trees = brute.served(is_spread, rest)
        alone = providers - whole[0], trees - whole[1]
        assert constraint.removed_alone == counted(alone)
        by_itself = is_spread and constraint.kind != "required"
        assert constraint.passed == counted(brute.served(by_itself, [constraint]))
    return whole[1]


def check_joins(brute: Brute, request: CandidateRequest, found: Diagnosis) -> None:
    viable = {root.uuid for root in brute.anchors}
    passed = {g.suffix: check_group(brute, g, found) for g in request.groups}
    of_roots = [one for one in found.whole if one.kind.startswith("root_")]
    assert len(of_roots) == len(request.root_traits.required) + len(
        request.root_traits.forbidden
    )
    passed |= {
        str(number): {a.uuid for a in brute.anchors if brute.meets(a, one)}
        for number, one in enumerate(of_roots, start=100)
    }
    for key, mine in passed.items():
        others = viable.intersection(*(t for k, t in passed.items() if k != key))
        alone = Count(None, len(others - mine))
        if int(key or 0) < 100:
            assert alone in [g.removed_alone for g in found.groups if g.suffix == key]
        else:
            one = of_roots[int(key) - 100]
            assert (one.passed, one.removed_alone) == (Count(None, len(mine)), alone)
    viable.intersection_update(*passed.values())
    assert (found.viable, found.walked) == (len(viable), len(viable))

    def fitting(wanted: CandidateRequest) -> set[str]:
        return {
            a.uuid for a in brute.anchors if a.uuid in viable and brute.fits(wanted, a)
        }

    asked = links(request)
    free = request
    for link in asked:
        free = without_link(free, link)
    for one in found.whole:
        if one.kind == "together":
            bare = fitting(free)
            assert one.passed.trees == len(bare)
            assert one.removed_alone.trees == len(viable - bare)
    joining = [one for one in found.whole if one not in of_roots]
    for link in asked:
        with_it = structs.replace(
            free,
            isolate=request.isolate if link.kind == "isolate" else False,
            nested=link.kind != "nested",
            same_subtrees=(frozenset(link.names),)
            if link.kind == "same_subtree"
            else (),
        )
        blamed = fitting(without_link(request, link)) - fitting(request)
        assert (
            Constraint(
                link.kind,
                link.names,
                Count(None, len(fitting(with_it))),
                Count(None, len(blamed)),
            )
            in joining
        )


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(questions())
def test_counts_are_those_of_brute_force(
    question: tuple[list[Node], CandidateRequest],
) -> None:
    nodes, request = question
    found = explain(world(nodes), request, limits=ExplanationBudget(walks=10_000))
    assert not found.is_truncated
    check_joins(Brute(nodes), request, found)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(questions(), st.integers(1, 3))
def test_advice_is_confirmed_and_nothing_smaller_would_do(
    question: tuple[list[Node], CandidateRequest], factor: int
) -> None:
    nodes, request = question[0], times(question[1], factor)
    state = world(nodes)

    def helps(relaxation: Relaxation) -> bool:
        less = relaxed(request, relaxation)
        return bool(less.groups) and bool(search(state, less).candidates)

    found = explain(state, request)
    assert found.has_candidates is bool(search(state, request).candidates)
    if found.has_candidates:
        assert (found.misses, found.relaxation) == ((), None)
        return
    assert len(found.misses) == min(5, found.trees)
    assert all(miss.lacks for miss in found.misses)
    order = [r for r in lowered(request) if helps(r)]
    order.sort(key=lambda r: -(r.lowered or 0) / (r.amount or 1))
    if order:
        assert found.relaxation is not None
        assert found.relaxation in (*order, *dropped(request))
        best = order[0]
        share = (found.relaxation.lowered or 0) / (found.relaxation.amount or 1)
        assert share == (best.lowered or 0) / (best.amount or 1)
    else:
        assert found.relaxation == next(filter(helps, dropped(request)), None)


def test_alternatives_and_repeated_sets_are_given_up_one_by_one() -> None:
    names = frozenset({AVX, AVX2})
    request = ask(RequestGroup("", {"VCPU": 1}, Labels((names, names))))
    relaxation = Relaxation("required", "", (AVX, AVX2))
    assert relaxed(request, relaxation).groups[0].traits == Labels((names,))
