"""What Gantt decided against what Nova claimed: one verdict for each outcome."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.shadow.settler import NO_CLAIMS
from gantt.model.commands import Inventory
from gantt.model.hosts import Service
from gantt.model.spec import Flavor
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools
from tests.engine.shadow.observed import (
    AMOUNTS,
    QUICK,
    claim,
    new,
    now,
    observe,
    settled,
)
from tests.waiting import until


def test_same_host(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.host, found.gantt_host) == ("same", "big", "big")
    assert [one.host for one in found.ranked] == ["big", "small"]
    assert (found.rank, found.feasible, found.hosts) == (1, 2, 2)
    assert found.learnt_from == "allocations"
    assert found.claimed_at is not None
    assert found.claimed_at >= found.asked_at


def test_lower_ranked_host_differs_by_weighers(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "small")
    found = settled(two, uuid)
    assert (found.verdict, found.rank, found.gantt_host) == ("ranked", 2, "big")
    assert found.differences == {"RAMWeigher": 0.5}
    assert found.weight == found.ranked[1].weight


def test_host_that_gantt_refuses_is_named_with_the_filter(two: Gantt) -> None:
    two.update_service(Service("big", "nova-compute", disabled=True))
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.refused_by) == ("refused_by_gantt", "ComputeFilter")
    assert found.rank is None
    assert found.refused == {"ComputeFilter": 1}
    assert [one.host for one in found.refused_hosts] == ["big"]


def test_host_unknown_to_gantt(two: Gantt) -> None:
    provider = two.create_provider("elsewhere").uuid
    two.set_inventories(
        provider, {name: Inventory(10_000) for name in AMOUNTS}, generation=0
    )
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "elsewhere")
    found = settled(two, uuid)
    assert (found.verdict, found.host) == ("unknown_host", "elsewhere")


def test_refusal_of_nova_is_inferred_from_the_missing_claim(two: Gantt) -> None:
    other, mine = new(), new()
    observe(two, other)
    claim(two, other, "big")
    observe(two, mine)
    found = settled(two, mine)
    assert (found.verdict, found.is_inferred) == ("refused_by_nova", True)
    assert (found.gantt_host, found.host) == ("big", None)
    assert found.settled_at - found.asked_at >= QUICK.shadow_settle_s * 1_000_000


def test_both_refuse(two: Gantt) -> None:
    other, mine = new(), new()
    observe(two, other)
    claim(two, other, "big")
    observe(two, mine, flavor=Flavor(vcpus=99, memory_mb=64))
    found = settled(two, mine)
    assert (found.verdict, found.is_inferred) == ("both_refused", True)
    assert found.failure == "No valid host was found."
    assert found.refused == {"free resources": 2}


def test_request_that_gantt_refuses_before_hosts(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, scheduler_hints={"same_host": ("x",), "different_host": ("x",)})
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert found.verdict in {"same", "ranked", "refused_by_gantt"}


def test_without_any_claim_nothing_is_concluded(two: Gantt) -> None:
    """The cloud's claims may be in another Placement."""
    uuid = new()
    observe(two, uuid)
    found = settled(two, uuid)
    assert (found.verdict, found.note) == ("undetermined", NO_CLAIMS)


def test_end_without_a_claim_is_undetermined_and_gives_novas_time(two: Gantt) -> None:
    first, uuid = new(), new()
    observe(two, first)
    claim(two, first, "big")
    settled(two, first)
    at = two.shadow_records()[0].settled_at
    observe(two, uuid, at=at)
    until(lambda: now() > at + 1500)  # what lies ahead is taken for what is now
    observe(two, uuid, "end", at=at + 1500)
    found = settled(two, uuid)
    assert (found.verdict, found.nova_s) == ("undetermined", 0.0015)
    assert "no claim was seen" in found.note


def test_failing_plug_in_is_undetermined(two: Gantt) -> None:
    """What Gantt would have done is not known."""
    uuid = new()
    options = replace(
        two._checks.options,
        available_filters=("tests.engine.shadow.test_verdicts.Broken",),
        enabled_filters=("Broken",),
    )
    two.retune(EngineOptions(scheduler=options))
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert found.verdict == "undetermined"
    assert "Broken" in found.note


class Broken(Filter):
    """Another package's filter, with a bug."""

    name = "Broken"

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        raise RuntimeError("a bug")
