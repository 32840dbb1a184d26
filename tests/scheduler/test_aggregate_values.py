"""Metadata of aggregates: what a filter asks of them costs no more than they differ."""

from __future__ import annotations

import pytest

from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.request import extra_specs
from tests.scheduler.fleets import Plan, a_host, all_hosts

MANY = 60
WANTED = " ".join(f"<or> alternative-{number}" for number in range(256))


def rack(number: int, value: str) -> dict[str, object]:
    uuid = f"44444444-4444-4444-8444-{number:012d}"
    metadata = {"rack": value}
    return {"uuid": uuid, "hosts": [f"h{number}"], "metadata": metadata}


def plan(*values: str) -> Plan:
    numbers = range(MANY)
    hosts = [a_host(host=f"h{number}", node=f"h{number}") for number in numbers]
    return Plan(hosts, [rack(one, values[one % len(values)]) for one in numbers])


@pytest.mark.parametrize(
    ("values", "most"), [(("one", "two"), 2), (("one", "two", "three, four"), 4)]
)
def test_a_value_is_judged_once(values: tuple[str, ...], most: int) -> None:
    """However many aggregates have it, and however long the requirement is."""
    asked: list[str] = []
    matches = extra_specs.matcher("rack", f"{WANTED} <or> two <or> four")

    def passes(item: str) -> bool:
        asked.append(item)
        return matches(item)

    hosts = all_hosts(plan(*values).state())
    found = aggregate_values.with_item(hosts, "rack", passes)
    assert found.sum() == MANY // len(values) * (len(values) - 1)
    assert len(asked) <= most
