"""Every operation of /gantt, by one client and by eight: what others wait for.

What is compared is the CPU time that the service takes while a caller waits: all that
it does before this caller's turn. Unlike seconds, it stays the same where other tests
take the processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.api.routes import ROUTES
from tests.attacks import beside
from tests.attacks.beside import HOST_KINDS, TIMES, Attacked, Beside, Seen
from tests.attacks.furnished import furnished
from tests.attacks.measuring import CONFIG, beside_operation
from tests.attacks.operations import DEAREST, HOSTS, of_routes
from tests.attacks.service import Renewed

IDLE_S, ATTACKED_S = 1.5, 0.6
# As multiples of the idle service. Callers share the interpreter with eight threads
# that keep it busy at most: two that list, two that count, four that look up or write.
MEDIAN = {"livez": 60, "host": 60, "decision": 50}
# Eight clients decide too, and one decision is searched for at a time.
AFTER_EIGHT = 80
DECIDING = frozenset(
    {"POST /gantt/select", "POST /gantt/advise", "POST /scheduler/nova/external"}
)
WORST = {"livez": 400, "host": 300, "decision": 150}
# Of two pages and of eight copies of what is compared; streams are not among these.
MORE_MB = 150
# Whole copies of the books, for callers with the right to them.
WHOLE = {"GET /gantt/snapshot": 400, "GET /gantt/verify": 400}


@pytest.fixture(scope="module")
def renewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Renewed]:
    folder = tmp_path_factory.mktemp("operations")
    fleet: Path = furnished(folder / "fleet.db", HOSTS, records=2_000)
    with Renewed(folder, fleet=fleet, more=CONFIG) as found:
        yield found


@pytest.fixture(scope="module")
def idle(renewed: Renewed) -> Beside:
    service = renewed.idle()
    beside.measure(service, 0.5, HOST_KINDS)
    found = beside.measure(service, IDLE_S, HOST_KINDS)
    assert not any(seen.failures for seen in found.values()), found
    return found


def test_a_long_hold_is_told() -> None:
    idle = {"decision": Seen(worked=[0.004, 0.005, 0.006])}
    usual = {"decision": Seen(worked=[0.05, 0.1, 0.2])}
    held = {"decision": Seen(worked=[0.05, 0.06, 1.1])}
    assert not [*_wrong(idle, "GET /gantt/audit", 8, Attacked(8, usual, 1.0))]
    (told,) = _wrong(idle, "GET /gantt/audit", 8, Attacked(8, held, 1.0))
    assert "12 times its own work, 220 at worst" in told
    unheard = {"decision": Seen(worked=[0.05], failures=["timed out"])}
    (told,) = _wrong(idle, "GET /gantt/audit", 8, Attacked(8, unheard, 1.0))
    assert "timed out" in told


def test_every_operation_is_attacked() -> None:
    assert sorted(DEAREST) == sorted(of_routes(ROUTES))


@pytest.mark.parametrize("name", DEAREST)
def test_others_go_on_beside_an_operation(
    renewed: Renewed, idle: Beside, name: str
) -> None:
    for _ in range(TIMES):
        wrong = [
            line
            for clients, one in beside_operation(renewed.idle(), name, ATTACKED_S)
            for line in _wrong(idle, name, clients, one)
        ]
        if not wrong:
            return
    pytest.fail("\n".join(wrong))


def _wrong(idle: Beside, name: str, clients: int, one: Attacked) -> Iterator[str]:
    """What is wrong with what callers saw beside an attack."""
    limits = {**MEDIAN, **({"decision": AFTER_EIGHT} if name in DECIDING else {})}
    for kind, seen in one.found.items():
        told = f"{clients} × {name}: {kind}"
        if seen.failures or not seen.worked:
            yield f"{told}: {len(seen.failures)} failed: {seen.failures[:2]}"
            continue
        median, most = seen.times_more_work(idle[kind])
        if median > limits[kind] or most > WORST[kind]:
            yield (
                f"{told} waited for {median:.0f} times its own work, {most:.0f} at "
                f"worst, in {len(seen.worked)} requests; limits are {limits[kind]} and "
                f"{WORST[kind]}"
            )
    if one.took > (most_mb := WHOLE.get(name, MORE_MB)):
        yield f"{clients} × {name} took {one.took:.0f} of {most_mb:.0f} MB"
