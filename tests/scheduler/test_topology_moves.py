"""Instances with cells and devices that are rebuilt, resized or migrated: what they
have is promised to no other, and a rebuild alone is not asked to fit beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.hosts import Instance
from gantt.model.spec import RequestSpec
from gantt.store.memory_store import MemoryStore
from tests.engine.test_advisor import Clock
from tests.scheduler.small_cells import NIC, PINNED, hosts, options, place, report, uuid

TWO_NICS = [{**NIC, "numa_node": None, "count": 2}]
MOVES = ("resize", "live_migrate")
each_move = pytest.mark.parametrize("kind", MOVES)
each_spec = pytest.mark.parametrize("has_nic", [False, True])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["caching", "filter", "chance"])
def engine(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Gantt]:
    chosen = options(driver=request.param)
    with Gantt(
        MemoryStore(), chosen, clock=clock, standard_names=standard_names()
    ) as found:
        yield found


def wanted(*, has_nic: bool) -> RequestSpec:
    entry = {"count": 1, "request_id": "nic", "spec": [NIC]}
    return replace(PINNED, pci_requests=(entry,) if has_nic else ())


def checked(spec: RequestSpec, kind: str, *, staying: bool = False) -> RequestSpec:
    """As a conductor asks for an instance that exists; ``staying``: on host a."""
    hints = {"_nova_check_type": (kind,)}
    found = replace(spec, scheduler_hints=hints)
    if kind == "rebuild":
        return replace(found, force_hosts=("a",), force_nodes=("a",))
    return replace(found, ignore_hosts=() if staying else ("a",))


def promised(engine: Gantt) -> dict[str, float]:
    return {one.host: one.claimed["instances"] for one in engine.list_hosts()}


def refuses(engine: Gantt, number: int, spec: RequestSpec) -> bool:
    try:
        place(engine, number, spec=spec)
    except NoValidHost:
        return True
    return False


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_rebuild_is_not_fitted_beside_itself(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    """Whether its own claim or a report has the host's last cell and device."""
    spec, last = wanted(has_nic=has_nic), [{**TWO_NICS[0], "count": 1}]
    report(engine, "a", 0, 1, pci_stats=last)
    place(engine, 1, spec=spec)
    if is_counted:
        report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    before = promised(engine)
    assert before == {"a": 0 if is_counted else 1}
    (found,) = place(engine, 1, spec=checked(spec, "rebuild"))
    assert (found.service_host, found.limits, found.claim) == ("a", None, None)
    assert promised(engine) == before
    assert refuses(engine, 2, spec)
    assert not engine.verify().problems


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_resize_on_its_host_holds_what_it_has_and_what_it_gets(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    """A compute holds both until the resize is confirmed."""
    spec = wanted(has_nic=has_nic)
    report(engine, "a", pci_stats=TWO_NICS)
    place(engine, 1, spec=spec)
    if is_counted:
        rest = [{**TWO_NICS[0], "count": 1}] if has_nic else TWO_NICS
        report(engine, "a", 0, 1, pci_stats=rest, instances=(uuid(1),))
    else:
        engine.update_instances("a", [Instance(uuid(1))])
    assert hosts(place(engine, 1, spec=checked(spec, "resize", staying=True))) == ["a"]
    assert promised(engine) == {"a": 1 if is_counted else 2}
    assert refuses(engine, 2, spec)
    assert not engine.verify().problems


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_resize_goes_elsewhere_where_its_host_lacks_room_for_both(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    spec, last = wanted(has_nic=has_nic), [{**TWO_NICS[0], "count": 1}]
    report(engine, "a", 0, 1, pci_stats=last)
    place(engine, 1, spec=spec)
    if is_counted:
        report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    else:
        engine.update_instances("a", [Instance(uuid(1))])
    resize = checked(spec, "resize", staying=True)
    assert refuses(engine, 1, resize)
    report(engine, "b", pci_stats=TWO_NICS)
    assert hosts(place(engine, 1, spec=resize)) == ["b"]


@each_move
@each_spec
def test_moving_instance_keeps_what_its_host_has_not_counted(
    engine: Gantt, clock: Clock, has_nic: bool, kind: str
) -> None:
    """Its old place is free once a report no longer has it; its new one is taken."""
    spec = wanted(has_nic=has_nic)
    for name in "ab":
        report(engine, name, 0, 1, pci_stats=[{**TWO_NICS[0], "count": 1}])
    place(engine, 1, spec=replace(spec, ignore_hosts=("b",)))
    engine.update_instances("a", [Instance(uuid(1))])
    assert hosts(place(engine, 1, spec=checked(spec, kind))) == ["b"]
    assert refuses(engine, 2, spec)
    # Both count it, in a later second than that in which it began to move.
    clock.seconds += 2
    report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    report(engine, "b", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    assert promised(engine) == {"a": 0, "b": 0}
    assert refuses(engine, 2, spec)
    # It has left.
    report(engine, "a", 0, 1, pci_stats=[{**TWO_NICS[0], "count": 1}])
    assert hosts(place(engine, 2, spec=spec)) == ["a"]
    assert not engine.verify().problems


@each_move
def test_next_try_of_a_move_gives_back_the_last_one(engine: Gantt, kind: str) -> None:
    """The host refused it: the conductor asks anew, without it."""
    for name in "abc":
        report(engine, name, 0, 1)
    place(engine, 1, spec=replace(PINNED, ignore_hosts=("b", "c")))
    engine.update_instances("a", [Instance(uuid(1))])
    move = checked(PINNED, kind)
    (first,) = place(engine, 1, spec=replace(move, ignore_hosts=("a", "c")))
    assert first.claim is not None
    engine.release_claim(first.claim)
    assert hosts(place(engine, 1, spec=replace(move, ignore_hosts=("a", "b")))) == ["c"]
    assert hosts(place(engine, 2)) == ["b"]
    assert refuses(engine, 3, PINNED)
    assert not engine.verify().problems
