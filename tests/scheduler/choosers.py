"""Drivers of other packages for tests, and how they are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

from gantt.scheduler.contract import Chooser, Request
from gantt.scheduler.evaluation import known_drivers as drivers
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats, Int64s


class Worst(Chooser):
    """The host that weighs least, first."""

    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> list[Int64s]:
        return [np.argsort(weights, kind="stable")] * count


class Told(Chooser):
    """Answers what ``says`` does; ``asked``: about which hosts, for how many."""

    says: Callable[..., Any] = staticmethod(
        lambda hosts, _weights, count, _seed: [np.arange(len(hosts))] * count
    )
    asked: list[tuple[list[str], int]] = []

    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> Any:
        self.asked.append((hosts.names, count))
        return type(self).says(hosts, weights, count, seed)


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """``value``, a module and a name in it, as a driver of another package."""
    entry = EntryPoint(name, value, "gantt.drivers")

    def found(*, group: str) -> list[EntryPoint]:
        return [entry] if entry.group == group else []

    monkeypatch.setattr(drivers, "entry_points", found)


def install_told(monkeypatch: pytest.MonkeyPatch, says: Callable[..., Any]) -> None:
    """``Told`` as the driver "told"."""
    monkeypatch.setattr(Told, "says", staticmethod(says))
    monkeypatch.setattr(Told, "asked", [])
    install(monkeypatch, "told", f"{__name__}:Told")


def named(*orders: str) -> Callable[..., list[Int64s]]:
    """An answer: per instance the names of hosts, as far as they were given."""

    def says(hosts: Hosts, *_: object) -> list[Int64s]:
        return [
            np.array(
                [
                    hosts.names.index(name)
                    for name in one.split()
                    if name in hosts.names
                ],
                np.int64,
            )
            for one in orders
        ]

    return says
