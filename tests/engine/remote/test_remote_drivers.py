"""A driver of another package chooses, and a remote Placement decides amounts."""

from __future__ import annotations

import numpy as np
import pytest

from gantt.model.commands import Inventory
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Int64s
from tests.elsewhere import Elsewhere, Shaky, Wall, ask, engine_on
from tests.scheduler.choosers import install_told, named


def test_instances_are_claimed_where_it_says(
    there: Elsewhere, books: Shaky, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, named("h3", "h1 h3", "h1"))
    with engine_on(books, wall=wall, driver="told") as engine:
        there.fleet(engine, "h1", "h2", "h3")
        found = engine.schedule(ask(3))
        assert [row[0].service_host for row in found] == ["h3", "h1", "h1"]
        assert (there.used(), books.writes) == (3, 1)
        assert engine.verify().problems == ()


def test_it_is_asked_again_where_its_host_was_taken_meanwhile(
    there: Elsewhere, books: Shaky, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def says(hosts: Hosts, _weights: object, count: int, _seed: int) -> list[Int64s]:
        if not asked:
            gone = there.providers["h2"]
            there.books.set_inventory(gone, "VCPU", Inventory(4, reserved=4))
        asked.append(hosts.names)
        return [np.arange(len(hosts))[::-1]] * count

    install_told(monkeypatch, says)
    with engine_on(books, wall=wall, driver="told", choices=1) as engine:
        there.fleet(engine, "h1", "h2")
        ((chosen, *_),) = engine.schedule(ask())
        assert chosen.service_host == "h1"
        assert asked == [["h1", "h2"], ["h1"]]
        assert there.used() == 1
