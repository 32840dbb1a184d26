"""Every operation of /gantt, by one client and by eight: what others see beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.api.routes import ROUTES
from tests.attacks import beside
from tests.attacks.beside import HOST_KINDS, check
from tests.attacks.furnished import furnished
from tests.attacks.measuring import CLIENTS, CONFIG, of_operation
from tests.attacks.operations import DEAREST, HOSTS, of_routes
from tests.attacks.service import Service, attacked

ATTACKED_S = 1.2
# As multiples of the idle service. Decisions share the interpreter with eight threads
# that keep it busy at most: two that list, two that count, four that look up or write.
MEDIAN, WORST = 60, 120
# Of two pages and of eight copies of what is compared; streams are not among these.
MORE_MB = 150
# Whole copies of the books, for callers with the right to them.
WHOLE = {"GET /gantt/snapshot": 400, "GET /gantt/verify": 400}


@pytest.fixture(scope="module")
def furnished_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("operations")
    fleet: Path = furnished(folder / "fleet.db", HOSTS, records=2_000)
    with attacked(folder, fleet=fleet, more=CONFIG) as found:
        beside.measure(found.port, 1.0, HOST_KINDS)
        yield found


def test_every_operation_is_attacked() -> None:
    assert sorted(DEAREST) == sorted(of_routes(ROUTES))


@pytest.mark.parametrize("name", DEAREST)
def test_others_go_on_beside_an_operation(
    furnished_service: Service, name: str
) -> None:
    for clients in CLIENTS:
        idle, one = of_operation(furnished_service, name, clients, ATTACKED_S)
        assert one.placed == clients
        check(
            *(idle, one.found, one.took),
            median=MEDIAN,
            worst=WORST,
            most_mb=WHOLE.get(name, MORE_MB),
        )
