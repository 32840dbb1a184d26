"""RoomWeigher, the usual flavors it is told, and ``packing``, which turns it on."""

from __future__ import annotations

import numpy as np
import pytest

from gantt.errors import Refused
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, RequestSpec, ResourceGroup, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.replay.machines import Machine, SubProvider, build, uuid_of
from gantt.replay.replay_books import ReplayBooks
from gantt.scheduler.contract import Request
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE
from gantt.scheduler.options import PACKINGS, SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.request.usual_flavors import MOST, named_flavors, usual_flavors
from gantt.scheduler.scoring.mix import mix_of
from gantt.scheduler.scoring.weighers.room import RoomWeigher
from gantt.scheduler.selection.claim import claim_of
from gantt.scheduler.selection.picks import pick_hosts
from tests.scheduler.fleets import Plan, a_host, all_hosts, request

GPU = "CUSTOM_GPU_MILLI"
WHOLE = f"vcpus=4,memory_mb=4096,{GPU}=1000"
HALF = f"vcpus=2,memory_mb=2048,{GPU}=500"


def asked(milli: int, vcpus: int = 1) -> RequestSpec:
    group = ResourceGroup("_gpu", {GPU: milli})
    return RequestSpec(Flavor(vcpus, 256), requested_resources=(group,))


def machine(name: str, gpus: int) -> Machine:
    parts = tuple(SubProvider(f"gpu{n}", {GPU: Inventory(1000)}) for n in range(gpus))
    stock = {"VCPU": Inventory(32), "MEMORY_MB": Inventory(32768)}
    return Machine(name, stock, parts=parts)


def placed(books: ReplayBooks, spec: RequestSpec, options: SchedulerOptions) -> str:
    """The provider of the GPU that one instance gets."""
    driver = driver_of(policy_of(options))
    uuid = uuid_of(f"instance {books.state.revision}")
    wanted = ScheduleRequest(spec, instance_uuids=(uuid,))
    source, budget = BOOK_SOURCE, Budget(None)
    found = pick_hosts(books.state, wanted, source, driver, books.now, budget)
    books.submit(claim_of(wanted, found.feasible, found.picks, uuid))
    allocations = found.picks[0][0].candidate.allocations
    providers = books.state.providers
    (gpu,) = [one for one, given in allocations.items() if GPU in given]
    row = providers.row_of(gpu)
    assert row is not None
    found_row = providers.get(int(providers.id[row]))
    assert found_row is not None
    return found_row.name


# -- the option -----------------------------------------------------------------------


def test_the_usual_flavors_are_read_with_shares_and_worth() -> None:
    one, other = usual_flavors((f"3x{WHOLE}*2", "vcpus=8"))
    assert one.amounts == {"VCPU": (4, 1), "MEMORY_MB": (4096, 1), GPU: (1000, 2)}
    assert (one.share, other.share) == (0.75, 0.25)
    assert one.share * one.worth + other.share * other.worth == pytest.approx(1.0)


def test_worth_grows_with_the_square_of_what_is_asked() -> None:
    small, large = usual_flavors(("9xvcpus=1,memory_mb=10", "vcpus=4,memory_mb=40"))
    assert large.worth == pytest.approx(16 * small.worth)
    (only,) = usual_flavors(("5xvcpus=3",))
    assert only.worth == 1.0


def test_a_name_among_the_amounts_is_that_of_the_flavor() -> None:
    texts = (f"3xname=gpu.2, {WHOLE}*2", "vcpus=8", "vcpus=2*2,name=plain,disk_gb=9")
    assert [one.name for one in usual_flavors(texts)] == ["gpu.2", "", "plain"]
    asked = {
        f"resources1:{GPU}": "1000",
        f"resources2:{GPU}": "1000",
        "group_policy": "none",
    }
    assert named_flavors(texts) == (
        Flavor(4, 4096, name="gpu.2", extra_specs=asked),
        Flavor(4, 0, 9, name="plain"),
    )


def test_two_flavors_of_one_name_are_refused_at_the_start() -> None:
    with pytest.raises(Refused, match="more than one flavor of the name 'a'"):
        policy_of(SchedulerOptions(usual_flavors=("name=a,vcpus=1", "name=a,vcpus=2")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not understood"),
        ("2x", "'' is not understood"),
        ("name=,vcpus=1", "'name=' is not understood"),
        ("name=a", "asks for nothing"),
        ("name=a,name=b,vcpus=1", "gives name twice"),
        ("vcpus=1,vcpus=2", "gives VCPU twice"),
        ("VCPU=1,name=a,vcpus=2", "gives VCPU twice"),
        ("cores=4", "'cores=4' is not understood"),
        ("vcpus=-1", "is not understood"),
        ("vcpus=1*x", "is not understood"),
        ("vcpus=0", "asks for nothing"),
        ("0xvcpus=1", "asks for nothing"),
    ],
)
def test_what_is_no_flavor_is_refused_at_the_start(text: str, said: str) -> None:
    with pytest.raises(Refused, match="usual_flavors of") as caught:
        policy_of(SchedulerOptions(usual_flavors=("vcpus=1", text)))
    assert said in str(caught.value)


def test_too_many_are_refused() -> None:
    with pytest.raises(Refused, match=f"{MOST} is the limit"):
        usual_flavors(("vcpus=1",) * (MOST + 1))


def test_packing_sets_what_no_option_does() -> None:
    options = SchedulerOptions(
        packing="stack", multipliers={"ram_weight_multiplier": 3}
    )
    assert options.multiplier("ram_weight_multiplier") == 3
    assert options.multiplier("cpu_weight_multiplier") == -1
    assert options.multiplier("pci_weight_multiplier") == 1
    assert SchedulerOptions(packing="room").multiplier("room_weight_multiplier") == 1
    assert PACKINGS["spread"] == {}
    with pytest.raises(Refused, match=r"packing of \[gantt\] is 'tight'; there is spr"):
        policy_of(SchedulerOptions(packing="tight"))  # type: ignore[arg-type]


# -- the score ------------------------------------------------------------------------


def test_what_is_stranded_costs_nothing() -> None:
    """The first host has no memory left for a usual flavor: its CPUs are free to
    take."""
    plan = Plan(
        [
            a_host(host="full", node="full", free_ram_mb=0),
            a_host(host="free", node="free", free_ram_mb=32768),
        ]
    )
    hosts = all_hosts(plan.state())
    usual = ("vcpus=1,memory_mb=1024",)
    spec = RequestSpec(Flavor(4, 0))
    wanted = Request(spec, SchedulerOptions(usual_flavors=usual))
    full, free = RoomWeigher().score(hosts, wanted).tolist()
    assert free < full
    assert -0.001 <= full <= 0


def test_without_usual_flavors_the_fullest_host_is_best() -> None:
    plan = Plan(
        [
            a_host(host=f"h{used}", node=f"h{used}", vcpus_used=used)
            for used in (0, 8, 4)
        ]
    )
    scores = RoomWeigher().score(all_hosts(plan.state()), request())
    assert np.argsort(-scores).tolist() == [1, 2, 0]


def test_room_counts_whole_pieces_of_providers() -> None:
    mix = mix_of((f"vcpus=1,{GPU}=400*2",))
    left = {"VCPU": np.array([[9.0], [9.0]]), GPU: np.array([[900.0, 900], [1200, -1]])}
    # Two pieces on each of two GPUs, or three on one: two instances, or one.
    assert mix.room(left).tolist() == [2.0, 1.0]


def test_a_part_of_a_gpu_goes_where_another_is_broken() -> None:
    books = build([machine("one", 2), machine("two", 2)])
    options = SchedulerOptions(packing="room", usual_flavors=(WHOLE, HALF))
    assert placed(books, asked(500), options) == "one_gpu0"
    assert placed(books, asked(300), options) == "one_gpu0"
    assert placed(books, asked(600), options) == "one_gpu1"
    assert placed(books, asked(400), options) == "one_gpu1"
    assert placed(books, asked(400), options) == "two_gpu0"


def test_the_tightest_provider_of_a_host_is_taken_while_packing() -> None:
    """Spreading takes the first that fits, as OpenStack Placement lists them."""
    for packing, expected in (("spread", "one_gpu0"), ("stack", "one_gpu1")):
        books = build([machine("one", 2)])
        spread = SchedulerOptions()
        assert placed(books, asked(300), spread) == "one_gpu0"
        assert placed(books, asked(800), spread) == "one_gpu1"
        options = SchedulerOptions(packing=packing)  # type: ignore[arg-type]
        assert placed(books, asked(200), options) == expected


def test_rooms_follow_inventories_and_trees() -> None:
    books = build([machine("one", 2), machine("two", 0), machine("three", 1)])
    hosts = all_hosts(books.state)
    assert hosts.left_of(GPU).tolist() == [[1000, 1000], [-1, -1], [1000, -1]]
    placed(books, asked(300), SchedulerOptions(packing="stack"))
    assert hosts.left_of(GPU).max() == 1000
    assert sorted(hosts.left_of(GPU).ravel()) == [-1, -1, -1, 700, 1000, 1000]
    assert hosts.left_of("CUSTOM_NONE").shape == (3, 0)
