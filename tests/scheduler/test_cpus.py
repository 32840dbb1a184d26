"""CPU policies of flavor and image as amounts of PCPU and VCPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.scheduler.request import cpus
from tests.scheduler.test_shape import a_spec, asked, required

DEDICATED = {"hw:cpu_policy": "dedicated"}
MIXED = {"hw:cpu_policy": "mixed"}
ISOLATED = {"hw:emulator_threads_policy": "isolate"}
REALTIME = {"hw:cpu_realtime": "yes"}
Texts = dict[str, str]


def taken(extra_specs: Texts, properties: dict[str, Any] | None = None) -> list[Any]:
    """(PCPU, VCPU) of each question."""
    return [
        (found.get("PCPU", 0), found.get("VCPU", 0))
        for request in asked(a_spec(extra_specs, properties))
        for found in (request.groups[0].resources,)
    ]


@pytest.mark.parametrize(
    ("extra_specs", "properties", "expected"),
    [
        ({}, None, [(0, 4)]),
        ({"hw:cpu_policy": "shared"}, None, [(0, 4)]),
        # Pinned CPUs may be had from hosts that know no PCPU.
        (DEDICATED, None, [(4, 0), (0, 4)]),
        ({}, {"hw_cpu_policy": "dedicated"}, [(4, 0), (0, 4)]),
        (DEDICATED, {"hw_cpu_policy": "shared"}, [(4, 0), (0, 4)]),
        (DEDICATED | ISOLATED, None, [(5, 0), (0, 4)]),
        (DEDICATED | {"hw:emulator_threads_policy": "share"}, None, [(4, 0), (0, 4)]),
        # Mixed ones may not.
        (MIXED | {"hw:cpu_dedicated_mask": "1-2"}, None, [(2, 2)]),
        (MIXED | {"hw:cpu_dedicated_mask": "^0"}, None, [(3, 1)]),
        (MIXED | {"hw:cpu_dedicated_mask": "^0-1, ^3"}, None, [(1, 3)]),
        (MIXED | {"hw:cpu_dedicated_mask": "0-2,^1"}, None, [(2, 2)]),
        (MIXED | ISOLATED | {"hw:cpu_dedicated_mask": "0"}, None, [(2, 3)]),
        (MIXED | REALTIME | {"hw:cpu_realtime_mask": "^0"}, None, [(3, 1)]),
        (
            MIXED | REALTIME | {"hw:cpu_realtime_mask": "^0"},
            {"hw_cpu_realtime_mask": "3"},
            [(1, 3)],
        ),
        (
            MIXED | REALTIME | {"hw:cpu_dedicated_mask": "0-1"},
            {"hw_cpu_realtime_mask": "3"},
            [(2, 2)],
        ),
        # Explicit amounts are what they are.
        ({"resources:PCPU": "4"}, None, [(4, 0)]),
        ({"resources:PCPU": "5"} | ISOLATED, None, [(5, 0)]),
        ({"resources:VCPU": "3"}, None, [(0, 3)]),
    ],
)
def test_policies(
    extra_specs: Texts, properties: dict[str, Any] | None, expected: list[Any]
) -> None:
    assert taken(extra_specs, properties) == expected


def test_fallback_query_can_be_disabled() -> None:
    assert len(asked(a_spec(DEDICATED), disable_fallback_pcpu_query=True)) == 1


@pytest.mark.parametrize(
    ("flavor", "image", "is_required", "is_forbidden"),
    [
        (None, None, False, False),
        ("prefer", None, False, False),
        ("require", None, True, False),
        ("isolate", None, False, True),
        (None, "isolate", False, True),
        ("prefer", "require", False, False),
        ("require", "require", True, False),
    ],
)
def test_thread_policies(
    flavor: str | None, image: str | None, is_required: bool, is_forbidden: bool
) -> None:
    extra_specs = dict(DEDICATED)
    if flavor:
        extra_specs["hw:cpu_thread_policy"] = flavor
    properties = {"hw_cpu_thread_policy": image} if image else None
    first, second = asked(a_spec(extra_specs, properties))
    traits = first.groups[0].traits
    assert (cpus.HYPERTHREADING in required(traits)) == is_required
    assert (cpus.HYPERTHREADING in traits.forbidden) == is_forbidden
    # Hosts that know no PCPU do not bear the trait either.
    assert not second.groups[0].traits


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        ({"hw:cpu_policy": "pinned"}, None, "hw:cpu_policy='pinned' is unknown"),
        ({}, {"hw_cpu_policy": 7}, "hw_cpu_policy=7 is unknown"),
        (
            MIXED | {"hw:cpu_dedicated_mask": "0"},
            {"hw_cpu_policy": "dedicated"},
            "hw:cpu_policy=mixed",
        ),
        (
            {"hw:cpu_policy": "shared"},
            {"hw_cpu_policy": "dedicated"},
            "hw_cpu_policy=dedicated",
        ),
        (
            {"hw:cpu_policy": "shared"},
            {"hw_cpu_policy": "mixed"},
            "hw_cpu_policy=mixed",
        ),
        (
            DEDICATED | {"hw:cpu_thread_policy": "isolate"},
            {"hw_cpu_thread_policy": "require"},
            "hw_cpu_thread_policy=require",
        ),
        ({"hw:cpu_thread_policy": "isolate"}, None, "for pinned CPUs"),
        (ISOLATED, None, "hw:emulator_threads_policy=isolate is for pinned"),
        (
            DEDICATED | {"hw:emulator_threads_policy": "away"},
            None,
            "hw:emulator_threads_policy='away'",
        ),
        (
            DEDICATED
            | {
                "hw:cpu_thread_policy": "isolate",
                f"trait:{cpus.HYPERTHREADING}": "required",
            },
            None,
            "both required and forbidden",
        ),
        ({"resources:PCPU": "4", "resources1:VCPU": "1"}, None, "ask for one of them"),
        (DEDICATED | {"resources:PCPU": "4"}, None, "resources:PCPU=4 both say"),
        (
            {"hw:cpu_policy": "shared", "resources:VCPU": "4"},
            None,
            "resources:VCPU=4 both say",
        ),
        ({"resources:PCPU": "3"}, None, "ask for 4"),
        ({"resources:PCPU": "4"} | ISOLATED, None, "ask for 5"),
        (MIXED, None, "does not say which CPUs"),
        (MIXED | REALTIME, None, "does not say which CPUs"),
        (MIXED | {"hw:cpu_realtime_mask": "0"}, None, "does not say which CPUs"),
        (MIXED | {"hw:cpu_realtime": "perhaps"}, None, "hw:cpu_realtime='perhaps'"),
        (MIXED | {"hw:cpu_dedicated_mask": "0-3"}, None, "pins 4 of 4"),
        (MIXED | {"hw:cpu_dedicated_mask": "^0-3"}, None, "pins 0 of 4"),
        (MIXED | {"hw:cpu_dedicated_mask": "4"}, None, "names CPU 4"),
        (MIXED | {"hw:cpu_dedicated_mask": "x"}, None, "hw:cpu_dedicated_mask='x'"),
        (MIXED | {"hw:cpu_dedicated_mask": "2-1"}, None, "'2-1' is neither"),
        (MIXED | {"hw:cpu_dedicated_mask": "0-"}, None, "'0-' is neither"),
        (MIXED | {"hw:cpu_dedicated_mask": "9" * 5000}, None, "is neither a number"),
    ],
)
def test_contradictory_policies_are_refused(
    extra_specs: Texts, properties: dict[str, Any] | None, words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        asked(a_spec(extra_specs, properties))
    assert words in caught.value.message


def test_huge_cpu_mask_is_refused() -> None:
    with pytest.raises(Invalid, match="no host has so many"):
        cpus.parse_mask("key", "^0", 10**12)


SPANS = st.tuples(st.booleans(), st.integers(0, 15), st.integers(0, 15))


@given(st.lists(SPANS, min_size=1), st.booleans())
def test_cpu_masks_are_parsed_as_sets(
    spans: list[tuple[bool, int, int]], has_space: bool
) -> None:
    rules: list[str] = []
    chosen: set[int] = set()
    removed: set[int] = set()
    if spans[0][0]:
        chosen.update(range(16))
    for is_removed, one, other in spans:
        first, last = sorted((one, other))
        text = str(first) if first == last else f"{first}-{last}"
        rules.append("^" + text if is_removed else text)
        (removed if is_removed else chosen).update(range(first, last + 1))
    mask = (" , " if has_space else ",").join(rules)
    assert cpus.parse_mask("key", mask, 16) == chosen - removed
