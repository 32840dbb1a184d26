"""JsonFilter: queries over what hosts are."""

from __future__ import annotations

import json
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.json_query import JsonFilter
from tests.scheduler.filters.reading import check, passes, with_hints
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request

HOST = a_host(
    "h1",
    node="n1",
    free_ram_mb=5,
    stats={"x": 7, "none": None},
    hypervisor_type="QEMU",
    hypervisor_version=6_002_000,
    cpu_allocation_ratio=4.0,
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("[]", True),
        ("null", True),
        ("{}", True),
        ('["=", "$free_ram_mb", 5]', True),
        ('["=", "$free_ram_mb", 6]', False),
        ('["<", "$free_ram_mb", 6]', True),
        ('[">", "$free_ram_mb", 5]', False),
        ('["<=", "$free_ram_mb", 5.5]', True),
        ('[">=", "$free_ram_mb", 1e30]', False),
        ('["=", "$cpu_allocation_ratio", 4]', True),
        ('["=", "$hypervisor_type", "QEMU"]', True),
        ('["=", "$hypervisor_version", 6002000]', True),
        ('["<", 1, "$free_ram_mb", 9]', True),
        # The first against all the rest.
        ('["=", 5, 5, 5]', True),
        ('["=", 5, 5, 6]', False),
        ('["<", 5, 6, 7]', True),
        ('["<", 5, 7, 6]', True),
        ('["=", 5]', False),
        ('["="]', False),
        # What is missing is left out.
        ('["=", "$nope", 5, 5]', True),
        ('["=", "$nope", 5]', False),
        ('["=", "$stats.nope", 5, 5]', True),
        ('["=", "$stats.none", 5, 5]', True),
        ('["=", "$stats.x.y", 5, 5]', True),
        ('["=", null, 5, 5]', True),
        ('["=", "", 5, 5]', True),
        ('["=", "$", 1]', False),
        ('["in", "h1", "$host", "x"]', True),
        ('["in", "$nodename", "n1", "n2"]', True),
        ('["in", "$nodename", "n2"]', False),
        ('["in", "$nodename"]', False),
        ('["not", false]', True),
        ('["not", true]', False),
        ('["not", true, false]', True),
        ('["not"]', False),
        ('["not", "$nope"]', False),
        # A list of denials is true for the operator around it, whatever it denies.
        ('["and", ["not", true]]', True),
        ('["not", ["not", true]]', False),
        ('["and"]', True),
        ('["and", "$nope"]', True),
        ('["and", true, 0]', False),
        ('["and", []]', True),
        ('["or"]', False),
        ('["or", 0]', False),
        ('["or", 0, "x"]', True),
        ('["=", ["=", 1, 1], true]', True),
        ('["=", [], true]', True),
        ('["=", true, 1]', True),
        ('["=", {"a": 1}, {"a": 1}]', True),
        ('["<", ["not", true], ["not", false]]', True),
        # What is in stats is text.
        ('["=", "$stats.x", "7"]', True),
        ('["=", "$stats", {"x": "7", "none": null}]', True),
        ('["=", "$stats.x", 7]', False),
        # Text has no order among numbers: the host fails, whatever stands around.
        ('[">", "$stats.x", 5]', False),
        ('["not", [">", "$stats.x", 5]]', False),
        ('["or", true, ["<", "a", 5]]', False),
    ],
)
def test_queries(query: str, expected: bool) -> None:
    assert passes(JsonFilter(), HOST, with_hints(query=(query,))) is expected


def test_every_host_passes_without_a_query() -> None:
    assert passes(JsonFilter(), HOST)
    assert passes(JsonFilter(), HOST, with_hints(query=("",)))


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("not json", "not JSON"),
        ("5", "5 is no operator"),
        ('"abc"', "'abc' is no operator"),
        ('["!=", 1, 2]', "'!=' is no operator"),
        ('[["="], 1]', "is no operator"),
        ('["and", ["=", 1, 1], ["xor", 1, 2]]', "'xor' is no operator"),
        ('["in", 1, [1, 2]]', "1 is no operator"),
        ('["not",' * 60 + "1" + "]" * 60, "nested more than"),
        ("[" * 100_000, "not JSON"),
        (f'["=", "$cpu_allocation_ratio", {10**400}]', "fit into 64 bits"),
        (f'["and", ["<", {-(2**63) - 1}, 1]]', "fit into 64 bits"),
        ('["or"' + ', ["=", 1, 1]' * 90 + "]", "361 parts"),
    ],
)
def test_invalid_value_is_named(query: str, named: str) -> None:
    with pytest.raises(Invalid, match="hint query") as refused:
        passes(JsonFilter(), HOST, with_hints(query=(query,)))
    assert named in refused.value.message
    assert len(refused.value.message) < 700


def test_query_must_be_a_single_string() -> None:
    with pytest.raises(Invalid, match="2 values"):
        passes(JsonFilter(), HOST, with_hints(query=("[]", "[]")))


SIGNS = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def _work_out(query: Any, known: dict[str, Any]) -> Any:
    """Evaluate a query recursively. Raises TypeError for values without an order."""
    if query == []:
        return True
    args = []
    for part in query[1:]:
        value = part
        if isinstance(part, list):
            value = _work_out(part, known)
        elif isinstance(part, str) and part[:1] == "$":
            value = known.get(part)
        if value is not None and not (isinstance(part, str) and part == ""):
            args.append(value)
    if query[0] == "not":
        return [not one for one in args]
    if query[0] in ("and", "or"):
        return all(args) if query[0] == "and" else any(args)
    if len(args) < 2:
        return False
    if query[0] == "in":
        return args[0] in args[1:]
    verdicts = [SIGNS[query[0]](args[0], one) for one in args[1:]]
    return all(verdicts)


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    stats = host.get("stats", {})
    claims = plan.claims_of(host)
    free = host.get("free_ram_mb", host["memory_mb"])
    known = {
        "$host": host["host"],
        "$free_ram_mb": free - sum(one["memory_mb"] for one in claims),
        "$vcpus_used": host["vcpus_used"] + sum(one["vcpus"] for one in claims),
        "$hypervisor_type": host.get("hypervisor_type"),
        **{f"$stats.{key}": str(value) for key, value in stats.items()},
    }
    query = json.loads(asked.spec.scheduler_hints["query"][0])
    try:
        result = _work_out(query, known)
    except TypeError:
        return False
    return any(result) if isinstance(result, list) else bool(result)


PATHS = "$host $free_ram_mb $vcpus_used $hypervisor_type $stats.rack $stats.score $nope"
LEAVES = st.sampled_from(
    [*PATHS.split(), "", "h1", "r1", "7", "QEMU", "x"]
) | st.sampled_from([0, 1, 8, 4.5, 1024, True, False, None])
QUERIES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4).flatmap(
        lambda parts: st.sampled_from([*SIGNS, "in", "not", "and", "or"]).map(
            lambda name: [name, *parts]
        )
    ),
    max_leaves=12,
).filter(lambda query: isinstance(query, list))


@given(fleets(), QUERIES)
def test_mask_equals_the_rule_per_host(plan: Plan, query: list[Any]) -> None:
    spec = with_hints(query=(json.dumps(query),))
    check(JsonFilter(), plan, request(spec), _reading)
