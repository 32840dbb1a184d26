"""mypy knows what plug-ins read: every column by name and dtype, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api

from gantt.scheduler.host_columns import Column
from gantt.scheduler.hosts import Hosts
from gantt.state.host_table import HostColumns
from tests.scheduler.fleets import Plan, a_host, all_hosts

GOOD = """
import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats


class RackFilter(Filter):
    cacheable = Cacheable(
        needs=("free_ram_mb", "factor:stats.rack"),
        reads=("flavor.memory_mb",),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        codes, _ = hosts.reported("stats", "rack")
        has_room = hosts.free_ram_mb >= request.spec.flavor.memory_mb
        mask: Bools = has_room & (codes != 0)
        return mask


class AgeWeigher(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        return hosts.updated_at.astype(np.float64) + hosts.column("pci_free")
"""
BAD = """
from gantt.scheduler.contract import Cacheable, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats


class RackFilter(Filter):
    cacheable = Cacheable(needs="free_ram_mb")

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hosts.fre_ram_mb
        hosts.free_ram_mb.most()
        request.spec.flavour
        return hosts.free_ram_mb


class AgeWeigher(Weigher):
    def score(self, hosts: Hosts) -> Floats:
        return hosts.is_disabled
"""
ERRORS = {
    8: ("call-arg", "arg-type"),
    11: ("attr-defined",),
    12: ("attr-defined",),
    13: ("attr-defined",),
    14: ("return-value",),
    18: ("override",),
    19: ("return-value",),
}


def test_typed_plugins_are_checked_by_mypy(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for name, text in (("good", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.py").write_text(text)
    told, trouble, _ = api.run(
        [
            "--strict",
            "--config-file=",
            # Of its own: the project is checked with more options than authors have.
            f"--cache-dir={root / '.mypy_cache' / 'plugins'}",
            "--no-error-summary",
            "--hide-error-context",
            *map(str, sorted(tmp_path.glob("*.py"))),
        ]
    )
    assert trouble == ""
    mine = [line for line in told.splitlines() if ": error:" in line]
    assert [line for line in mine if "good.py" in line] == []
    found: dict[int, set[str]] = {}
    for line in mine:
        place, _, text = line.partition(": error: ")
        number = int(place.rpartition(":")[2])
        found.setdefault(number, set()).add(text.rpartition("[")[2].rstrip("]"))
    assert found == {number: {*codes} for number, codes in ERRORS.items()}, told


def test_every_column_is_declared_with_its_type() -> None:
    columns = {
        name
        for kind in Hosts.__mro__
        for name, one in vars(kind).items()
        if isinstance(one, Column)
    }
    assert columns == HostColumns.specs.keys()
    state = Plan([a_host("h1"), a_host("h2")]).state()
    hosts = all_hosts(state)
    for name, (dtype, _) in HostColumns.specs.items():
        values = hosts.column(name)
        assert values.dtype == dtype and values.shape == (2,), name
        assert values is getattr(hosts, name), "gathered once"
        assert not values.flags.writeable, name
    with pytest.raises(
        KeyError, match="no column 'fre_ram_mb'; there is .*free_ram_mb"
    ):
        hosts.column("fre_ram_mb")
    with pytest.raises(AttributeError, match="fre_ram_mb"):
        hosts.fre_ram_mb  # type: ignore[attr-defined]  # noqa: B018
