"""Policies compared on a trace: what is drawn, and what is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import json

from gantt.cli.main import gantt
from gantt.errors import Invalid
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, RequestSpec, ResourceGroup
from gantt.replay.events import Arrival
from gantt.replay.machines import Machine, SubProvider
from gantt.replay.packing import arrivals, packing_result
from gantt.replay.packing.packing_result import PackingResult
from gantt.replay.packing.policies import POLICIES, Case, usual_of
from gantt.replay.run import ReplaySettings
from gantt.scheduler.options import SchedulerOptions
from tests.cli.called import called
from tests.replay.fleets import arrival, machines

GPU = "CUSTOM_GPU_MILLI"
TRACE = [arrival(n, f"i{n}", vcpus=1 + n % 2, until_s=n + 50) for n in range(12)]


def asks(number: int, milli: int) -> Arrival:
    group = ResourceGroup("_gpu", {GPU: milli})
    spec = RequestSpec(Flavor(1, 64), requested_resources=(group,))
    return Arrival(number, (f"g{number}",), spec, (None,))


def results(
    fleet: tuple[Machine, ...], trace: Sequence[Arrival]
) -> dict[str, PackingResult]:
    case = Case(SchedulerOptions(choices=1), fleet, usual_of(trace))
    scarce = arrivals.scarce_of(trace, fleet)
    settings = ReplaySettings(case.options, sample_us=1_000_000)
    return {
        name: packing_result.run(name, case, trace, scarce, settings)
        for name in POLICIES
    }


def test_a_fleet_is_filled_with_drawn_arrivals() -> None:
    fleet = machines(4)
    scarce = arrivals.scarce_of(TRACE, fleet)
    assert (scarce.name, scarce.capacity) == ("VCPU", 16)
    for fill in (0.3, 3.0):
        drawn = arrivals.filling(TRACE, scarce, fill, seed=1)
        asked = sum(map(scarce.of, drawn))
        assert fill * 16 <= asked < fill * 16 + 2
        assert {one.until for one in drawn} == {(None,)}
        assert len({one.names for one in drawn}) == len(drawn)
        assert drawn == arrivals.filling(TRACE, scarce, fill, seed=1)
    assert arrivals.filling(TRACE, scarce, 3.0, seed=2) != drawn


def test_one_of_so_many_arrivals_is_taken() -> None:
    assert list(arrivals.one_in(TRACE, 1, 0)) == TRACE
    assert 0 < len(list(arrivals.one_in(TRACE, 3, 0))) < len(TRACE)


def test_a_trace_that_asks_for_nothing_is_refused() -> None:
    nothing = [arrival(0, "i", vcpus=0, memory_mb=0)]
    with pytest.raises(Invalid, match="asks for nothing"):
        arrivals.scarce_of(nothing, machines(1))


def test_the_flavors_of_a_trace_are_told_by_what_they_ask_for() -> None:
    trace = [asks(0, 500), asks(1, 500), asks(2, 1000)]
    assert usual_of(trace) == (
        f"2xVCPU=1,MEMORY_MB=64,{GPU}=500",
        f"1xVCPU=1,MEMORY_MB=64,{GPU}=1000",
    )
    rare = asks(3, 20_000)
    assert usual_of([*trace, rare], most=1) == (f"1xVCPU=1,MEMORY_MB=64,{GPU}=20000",)


def test_every_policy_places_what_fits_and_packing_empties_hosts() -> None:
    found = results(machines(4, vcpus=8), TRACE)
    assert {one.refused for one in found.values()} == {0}
    empty = {name: one.empty_hosts_least for name, one in found.items()}
    assert empty["stack"] == empty["best-fit"] == empty["first-fit"] > empty["spread"]


def test_room_keeps_gpus_whole() -> None:
    """Spreading takes half of each GPU, so that no whole one is left."""
    stock = {"VCPU": Inventory(64), "MEMORY_MB": Inventory(4096)}
    parts = (SubProvider("gpu0", {GPU: Inventory(1000)}),)
    fleet = tuple(Machine(f"h{n}", stock, parts=parts) for n in range(4))
    trace = [*(asks(n, 500) for n in range(4)), *(asks(n, 1000) for n in (4, 5))]
    found = results(fleet, trace)
    assert found["room"].refused == 0
    assert found["spread"].refused == 2


def test_the_command_tells_all_policies_and_the_same_twice(tmp_path: Path) -> None:
    lines = [f"i{n},{n},,{1 + n % 3},1" for n in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["vm,at,until,cores,gib", *lines]))
    columns = 'name = "vm"\nat = "at"\nvcpus = "cores"\n'
    memory = 'memory_mb = { column = "gib", scale = 1024 }\n'
    (tmp_path / "m.toml").write_text(f"[columns]\n{columns}{memory}")
    words = ["replay", "packing", str(tmp_path / "t.csv"), "--mapping"]
    words += [str(tmp_path / "m.toml"), "--fleet", "4xvcpus=8,memory_mb=8192"]
    words += ["--fill", "1.1", "--seeds", "2", "-o", "json"]
    one, other = (CliRunner().invoke(gantt, words) for _ in range(2))
    assert one.exit_code == 0, one.output
    first, second = (json.decode(each.stdout)["results"] for each in (one, other))
    assert [each["policy"] for each in first] == [*POLICIES] * 2
    assert [each["digest"] for each in first] == [each["digest"] for each in second]
    table = CliRunner().invoke(gantt, [*words[:-1], "table"])
    assert "VCPU is the scarcest. Medians of 2 drawings." in table.stdout
    # Before any of a trace is read.
    wrong = called(gantt, ["replay", "packing", "no", "--policy", "tight"], status=1)
    assert "'tight' is no policy; there is spread, stack, room" in wrong.stderr
