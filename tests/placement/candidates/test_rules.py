"""Each rule of the wire contract on a world that is drawn for it.

A case names what the search must answer: allocations as "provider:CLASS=amount ...",
with the mappings behind a bar where they matter.
"""

from __future__ import annotations

import pytest
from msgspec import Struct

from gantt.model.answers import Candidate
from gantt.model.commands import Inventory
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.search import search
from tests.placement.candidates.worlds import SHARES, Node, ask, group, node, world

AVX, AVX2 = "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"


class Case(Struct, frozen=True):
    """``answers``: in any order, each as ``shown`` would show it."""

    name: str
    nodes: list[Node]
    request: CandidateRequest
    answers: list[str]


def shown(candidate: Candidate) -> str:
    return " ".join(
        f"{uuid}:{name}={amount}"
        for uuid, amounts in sorted(candidate.allocations.items())
        for name, amount in sorted(amounts.items())
    )


# Two hosts with two NUMA cells each; the disk of both is shared.
NUMA = [
    node("h1"),
    node("h1-a", "h1", VCPU=4, traits=AVX, aggregates="rack-1"),
    node("h1-b", "h1", VCPU=8, traits=AVX2),
    node("h2", DISK_GB=50, aggregates="rack-2"),
    node("h2-a", "h2", VCPU=4),
    node("disk", DISK_GB=100, traits=SHARES, aggregates="rack-1"),
]
NICS = [
    node("h1", VCPU=4),
    node("nic-1", "h1", traits="HW_NUMA_ROOT"),
    node("pf-11", "nic-1", SRIOV_NET_VF=2),
    node("pf-12", "nic-1", SRIOV_NET_VF=2),
    node("nic-2", "h1", traits="HW_NUMA_ROOT"),
    node("pf-21", "nic-2", SRIOV_NET_VF=2),
]
UNITS = [
    node("tiny", VCPU=Inventory(16, max_unit=2)),
    node("coarse", VCPU=Inventory(16, min_unit=4)),
    node("steps", VCPU=Inventory(16, step_size=3)),
    node("full", VCPU=Inventory(4), used={"VCPU": 2}),
    node("kept", VCPU=Inventory(4, reserved=2)),
    node("free", VCPU=Inventory(4)),
]
PAIR = [
    node("c1", VCPU=8, traits=AVX, aggregates="east"),
    node("c2", VCPU=8, traits=AVX2, aggregates="east west"),
    node("c3", VCPU=8),
]

CASES = [
    Case(
        "units and capacity", UNITS, ask(group(VCPU=3)), ["steps:VCPU=3", "free:VCPU=3"]
    ),
    Case("a huge amount", UNITS, ask(group(VCPU=10**30)), []),
    Case(
        "double arithmetic: int(100 * 1.15) is 114",
        [node("n", VCPU=Inventory(100, allocation_ratio=1.15, max_unit=200))],
        ask(group("1", VCPU=57), group("2", VCPU=58)),
        [],
    ),
    Case(
        "and 114 fits",
        [node("n", VCPU=Inventory(100, allocation_ratio=1.15, max_unit=200))],
        ask(group("1", VCPU=57), group("2", VCPU=57)),
        ["n:VCPU=114"],
    ),
    Case("a trait", PAIR, ask(group(VCPU=1, required=AVX)), ["c1:VCPU=1"]),
    Case(
        "any of two traits",
        PAIR,
        ask(group(VCPU=1, required=f"{AVX}|{AVX2}")),
        ["c1:VCPU=1", "c2:VCPU=1"],
    ),
    Case(
        "one alternative forbidden",
        PAIR,
        ask(group(VCPU=1, required=f"{AVX}|{AVX2}", forbidden=AVX)),
        ["c2:VCPU=1"],
    ),
    Case(
        "a forbidden trait",
        PAIR,
        ask(group(VCPU=1, forbidden=AVX)),
        ["c2:VCPU=1", "c3:VCPU=1"],
    ),
    Case(
        "member of one of two",
        PAIR,
        ask(group(VCPU=1, member_of="west|north")),
        ["c2:VCPU=1"],
    ),
    Case(
        "member of both", PAIR, ask(group(VCPU=1, member_of="east west")), ["c2:VCPU=1"]
    ),
    Case(
        "member of none",
        PAIR,
        ask(group(VCPU=1, not_member_of="west")),
        ["c1:VCPU=1", "c3:VCPU=1"],
    ),
    Case(
        "the aggregate was never named",
        PAIR,
        ask(group(VCPU=1, member_of="nowhere")),
        [],
    ),
    Case(
        "T40 traits are united over providers that give resources",
        NUMA,
        ask(group(VCPU=1, DISK_GB=1, required=AVX)),
        ["disk:DISK_GB=1 h1-a:VCPU=1"],
    ),
    Case(
        "T40 but no other provider of the tree counts",
        NUMA,
        ask(group(VCPU=6, DISK_GB=1, required=AVX)),
        [],
    ),
    Case(
        "T40 and none of them bears a forbidden one",
        NUMA,
        ask(group(VCPU=1, DISK_GB=1, forbidden=f"{AVX} {AVX2}")),
        ["h2:DISK_GB=1 h2-a:VCPU=1"],
    ),
    Case(
        "T41 a child in the aggregate anchors its root",
        NUMA,
        ask(group("1", VCPU=6), group("2", DISK_GB=60), isolate=True),
        ["disk:DISK_GB=60 h1-b:VCPU=6"],
    ),
    Case(
        "T42 what only shares comes once",
        NUMA,
        ask(group(DISK_GB=10)),
        ["h2:DISK_GB=10", "disk:DISK_GB=10"],
    ),
    Case(
        "T42 for a suffixed group too",
        NUMA,
        ask(group("1", DISK_GB=60)),
        ["disk:DISK_GB=60"],
    ),
    Case(
        "T43 two groups on one provider add up",
        [node("n", VCPU=Inventory(8, max_unit=4, step_size=2))],
        ask(group("1", VCPU=2), group("2", VCPU=2)),
        ["n:VCPU=4"],
    ),
    Case(
        "T43 the sum respects max_unit",
        [node("n", VCPU=Inventory(8, max_unit=3))],
        ask(group("1", VCPU=2), group("2", VCPU=2)),
        [],
    ),
    Case(
        "T43 and what is used",
        [node("n", VCPU=Inventory(8), used={"VCPU": 5})],
        ask(group("1", VCPU=2), group("2", VCPU=2)),
        [],
    ),
    Case(
        "T44 isolate counts suffixed groups alone",
        [node("h"), node("a", "h", VCPU=4), node("b", "h", VCPU=1)],
        ask(group(VCPU=2), group("1", VCPU=1), group("2", VCPU=1), isolate=True),
        ["a:VCPU=3 b:VCPU=1", "a:VCPU=3 b:VCPU=1"],
    ),
    Case(
        "T48 before 1.29 not two of a tree",
        NUMA,
        ask(group(VCPU=1, DISK_GB=1), nested=False),
        ["disk:DISK_GB=1 h1-a:VCPU=1", "disk:DISK_GB=1 h1-b:VCPU=1"],
    ),
    Case(
        "T48 a single nested provider stays",
        NUMA,
        ask(group(VCPU=6), nested=False),
        ["h1-b:VCPU=6"],
    ),
    Case(
        "T49 the root must bear it",
        [node("a", VCPU=1, traits=AVX), node("b"), node("c", "b", VCPU=1, traits=AVX)],
        ask(group(VCPU=1), root_required=AVX),
        ["a:VCPU=1"],
    ),
    Case(
        "T49 or not",
        [node("a", VCPU=1, traits=AVX), node("b"), node("c", "b", VCPU=1, traits=AVX)],
        ask(group(VCPU=1), root_forbidden=AVX),
        ["c:VCPU=1"],
    ),
    Case(
        "T50 a common root is not enough",
        NICS,
        ask(
            group("1", SRIOV_NET_VF=1),
            group("2", SRIOV_NET_VF=1),
            isolate=True,
            same_subtree=["1 2"],
        ),
        [],
    ),
    Case(
        "T50 the NIC serves as ancestor",
        NICS,
        ask(
            group("nic", required="HW_NUMA_ROOT"),
            group("1", SRIOV_NET_VF=1),
            group("2", SRIOV_NET_VF=1),
            isolate=True,
            same_subtree=["nic 1 2"],
        ),
        ["pf-11:SRIOV_NET_VF=1 pf-12:SRIOV_NET_VF=1"] * 2,
    ),
    Case(
        "T50 one provider is a subtree",
        NICS,
        ask(
            group("1", SRIOV_NET_VF=1), group("2", SRIOV_NET_VF=1), same_subtree=["1 2"]
        ),
        ["pf-11:SRIOV_NET_VF=2", "pf-12:SRIOV_NET_VF=2", "pf-21:SRIOV_NET_VF=2"],
    ),
    Case(
        "T50 sets are independent",
        NICS,
        ask(
            group("a", required="HW_NUMA_ROOT"),
            group("b", required="HW_NUMA_ROOT"),
            group("1", SRIOV_NET_VF=2),
            group("2", SRIOV_NET_VF=2),
            isolate=True,
            same_subtree=["a 1", "b 2"],
        ),
        ["pf-11:SRIOV_NET_VF=2 pf-21:SRIOV_NET_VF=2"] * 2
        + ["pf-12:SRIOV_NET_VF=2 pf-21:SRIOV_NET_VF=2"] * 2,
    ),
    Case(
        "T51 in_tree leaves the unsuffixed group no sharing provider",
        NUMA,
        ask(group(VCPU=1, DISK_GB=1, in_tree="h1")),
        [],
    ),
    Case(
        "T51 but limits only the provider of a suffixed one",
        NUMA,
        ask(group("1", VCPU=6), group("2", DISK_GB=1, in_tree="disk")),
        ["disk:DISK_GB=1 h1-b:VCPU=6"],
    ),
    Case(
        "T17 in_tree takes any member",
        NUMA,
        ask(group(VCPU=1, in_tree="h1-b")),
        ["h1-a:VCPU=1", "h1-b:VCPU=1"],
    ),
    Case(
        "in_tree of an unknown provider", NUMA, ask(group(VCPU=1, in_tree="nobody")), []
    ),
    Case(
        "T16 the aggregate of a root spans its tree",
        NUMA,
        ask(group(VCPU=1, member_of="rack-2")),
        ["h2-a:VCPU=1"],
    ),
    Case(
        "T16 not for suffixed groups",
        NUMA,
        ask(group("1", VCPU=1, member_of="rack-2")),
        [],
    ),
    Case(
        "T16 forbidden ones span it as well",
        NUMA,
        ask(group(VCPU=1, not_member_of="rack-2")),
        ["h1-a:VCPU=1", "h1-b:VCPU=1"],
    ),
    Case(
        "T52 a sharing provider must itself be a member",
        NUMA,
        ask(group(VCPU=1, DISK_GB=1, member_of="rack-1")),
        ["disk:DISK_GB=1 h1-a:VCPU=1"],
    ),
    Case(
        "B3 a nested provider may share",
        [
            node("h", VCPU=1, aggregates="rack"),
            node("pool"),
            node("part", "pool", DISK_GB=9, traits=SHARES, aggregates="rack"),
        ],
        ask(group(VCPU=1, DISK_GB=1)),
        ["h:VCPU=1 part:DISK_GB=1"],
    ),
    Case(
        "B4 a resourceless group takes no notice of in_tree",
        NICS,
        ask(
            group("1", SRIOV_NET_VF=1, in_tree="h1"),
            group("n", required="HW_NUMA_ROOT", in_tree="pf-21"),
            same_subtree=["1 n"],
        ),
        ["pf-11:SRIOV_NET_VF=1", "pf-12:SRIOV_NET_VF=1", "pf-21:SRIOV_NET_VF=1"],
    ),
    Case(
        "B4 and is nothing when it only says what it is not",
        NICS,
        ask(
            group("1", SRIOV_NET_VF=1), group("n", forbidden=AVX), same_subtree=["1 n"]
        ),
        [],
    ),
    Case(
        "a class is never split",
        [node("h", VCPU=2), node("a", "h", VCPU=2)],
        ask(group(VCPU=3)),
        [],
    ),
    Case(
        "a provider that only shares serves every tree that asks more",
        [
            node("a", VCPU=1, aggregates="x"),
            node("b", VCPU=1, aggregates="x"),
            node("s", DISK_GB=9, traits=SHARES, aggregates="x"),
        ],
        ask(group(DISK_GB=1), group("1", VCPU=1)),
        ["a:VCPU=1 s:DISK_GB=1", "b:VCPU=1 s:DISK_GB=1"],
    ),
    Case(
        "amounts of one answer do not leak into the next",
        [node("h", DISK_GB=9), node("a", "h", VCPU=4), node("b", "h", VCPU=4)],
        ask(group(DISK_GB=1, VCPU=1), group("1", VCPU=2)),
        [
            "a:VCPU=3 h:DISK_GB=1",
            "a:VCPU=1 b:VCPU=2 h:DISK_GB=1",
            "a:VCPU=2 b:VCPU=1 h:DISK_GB=1",
            "b:VCPU=3 h:DISK_GB=1",
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case) -> None:
    answer = search(world(case.nodes), case.request)
    assert sorted(map(shown, answer.candidates)) == sorted(case.answers)
    assert not answer.is_truncated


def test_mappings_name_every_group() -> None:  # T45
    request = ask(
        group(VCPU=1, DISK_GB=1),
        group("nic", required="HW_NUMA_ROOT"),
        group("1", SRIOV_NET_VF=1),
        same_subtree=["nic 1"],
        limit=1,
    )
    nodes = [*NICS, node("disk", "h1", DISK_GB=9)]
    (candidate,) = search(world(nodes), request).candidates
    assert candidate.mappings == {
        "": ("h1", "disk"),
        "nic": ("nic-1",),
        "1": ("pf-11",),
    }
    assert "nic-1" not in candidate.allocations


def test_summaries_hold_whole_trees() -> None:  # T46
    answer = search(world(NUMA), ask(group(VCPU=6, DISK_GB=60)))
    assert set(answer.summaries) == {"h1", "h1-a", "h1-b", "disk"}
    assert answer.summaries["h1"].resources == {}
    assert answer.summaries["h1-a"].parent_uuid == "h1"
    assert answer.summaries["h1-a"].root_uuid == "h1"
    assert answer.summaries["h1-a"].traits == (AVX,)


def test_summaries_of_old_versions_hold_used_providers() -> None:  # T48
    answer = search(world(NUMA), ask(group(VCPU=6, DISK_GB=60), nested=False))
    assert set(answer.summaries) == {"h1-b", "disk"}


def test_summaries_show_all_classes() -> None:
    kept = Inventory(10, reserved=1, allocation_ratio=1.5)
    nodes = [node("n", VCPU=kept, DISK_GB=7, used={"DISK_GB": 2})]
    (summary,) = search(world(nodes), ask(group(VCPU=1))).summaries.values()
    assert {k: (r.capacity, r.used) for k, r in summary.resources.items()} == {
        "VCPU": (13, 0),
        "DISK_GB": (7, 2),
    }


def test_a_group_without_resources_adds_no_tree_to_the_summaries() -> None:
    nodes = [
        node("s", traits=f"{SHARES} {AVX}", aggregates="x"),
        node("h", VCPU=1, aggregates="x"),
    ]
    request = ask(group("1", VCPU=1), group("t", required=AVX))
    answer = search(world(nodes), request)
    assert [c.mappings for c in answer.candidates] == [{"1": ("h",), "t": ("s",)}]
    assert set(answer.summaries) == {"h"}
