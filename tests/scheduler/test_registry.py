"""Names in the options become filters and weighers, or a refusal that helps."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gantt.errors import Refused
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.feasibility.filters.compute import ComputeFilter
from gantt.scheduler.options import (
    DEFAULT_FILTERS,
    DEFAULT_MULTIPLIERS,
    SchedulerOptions,
)
from gantt.scheduler.plugins import registry
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from gantt.scheduler.relations.domain_picks import SoftSpreadWeigher
from gantt.scheduler.relations.locality import LocalityWeigher
from gantt.scheduler.scoring import weighers as weigher_modules
from gantt.scheduler.scoring.weighers.ram import RAMWeigher
from tests.scheduler import out_of_tree as theirs

MINE = "tests.scheduler.out_of_tree."
NOVA_FILTERS = "nova.scheduler.filters."
NOVA_WEIGHERS = "nova.scheduler.weights."
ALL_WEIGHERS = NOVA_WEIGHERS + "all_weighers"


def filters(*names: str, available: tuple[str, ...] = ()) -> tuple[Filter, ...]:
    paths = (NOVA_FILTERS + "all_filters", *available)
    return registry.filters(
        SchedulerOptions(enabled_filters=names, available_filters=paths)
    )


def _kind(found: Filter | Weigher) -> type:
    """The class that was asked for: one of another package is guarded."""
    if isinstance(found, GuardedFilter | GuardedWeigher):
        return type(found.wrapped)
    return type(found)


def weighers(*paths: str) -> tuple[Weigher, ...]:
    return registry.weighers(SchedulerOptions(weight_classes=paths))


def test_filters_are_ordered_and_unique() -> None:
    names = tuple(one.name for one in registry.filters(SchedulerOptions()))
    assert names == DEFAULT_FILTERS
    found = filters("RetryFilter", "ComputeFilter", "RetryFilter")
    assert [one.name for one in found] == ["RetryFilter", "ComputeFilter"]


def test_every_nova_weigher_exists() -> None:
    found = weighers(ALL_WEIGHERS)
    # Those of domains and artifacts are there where a request asks for them.
    of_requests = {SoftSpreadWeigher.option, LocalityWeigher.option}
    known = DEFAULT_MULTIPLIERS.keys() - of_requests
    assert {one.option for one in found} == known
    assert len(found) == len(known)


def test_every_class_is_constructible_and_documented() -> None:
    known: dict[str, Any] = {
        **registry.built_in_filters(),
        **registry.built_in(weigher_modules, Weigher),
    }
    for name, one in known.items():
        assert one().name == name
        assert one.__doc__, name


def test_nova_class_paths_resolve_to_built_in_ones() -> None:
    path = NOVA_FILTERS + "compute_filter.ComputeFilter"
    options = SchedulerOptions(
        enabled_filters=("ComputeFilter",), available_filters=(path,)
    )
    assert type(registry.filters(options)[0]) is ComputeFilter
    assert [_kind(one) for one in weighers(NOVA_WEIGHERS + "ram.RAMWeigher")] == [
        RAMWeigher
    ]
    twice = weighers(ALL_WEIGHERS, NOVA_WEIGHERS + "ram.RAMWeigher", "RAMWeigher")
    assert [one.name for one in twice].count("RAMWeigher") == 1
    assert weighers() == ()


def test_out_of_tree_classes() -> None:
    available = (MINE + "all_of_mine", MINE + "OldRamFilter")
    found = filters("OwnFilter", "OldRamFilter", "RackFilter", available=available)
    assert [_kind(one) for one in found] == [
        theirs.OwnFilter,
        LegacyFilter,
        LegacyFilter,
    ]
    assert [one.name for one in found] == ["OwnFilter", "OldRamFilter", "RackFilter"]
    more = weighers("RAMWeigher", MINE + "all_my_weighers", MINE + "PowerWeigher")
    assert [_kind(one) for one in more] == [
        RAMWeigher,
        LegacyWeigher,
        theirs.OwnWeigher,
    ]


def test_built_in_plugins_can_be_replaced() -> None:
    (found,) = filters("ComputeFilter", available=(MINE + "ComputeFilter",))
    assert _kind(found) is theirs.ComputeFilter


def _install(
    monkeypatch: pytest.MonkeyPatch, group: str, name: str, value: str
) -> None:
    entry = EntryPoint(name, value, group)

    def found(*, group: str) -> list[EntryPoint]:
        return [entry] if entry.group == group else []

    monkeypatch.setattr(registry, "entry_points", found)


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "tests.scheduler.out_of_tree"
    _install(monkeypatch, "gantt.filters", "OwnFilter", f"{module}:OwnFilter")
    assert _kind(filters("OwnFilter")[0]) is theirs.OwnFilter
    _install(monkeypatch, "gantt.weighers", "power", f"{module}:PowerWeigher")
    assert [one.name for one in weighers("power")] == ["PowerWeigher"]
    assert "PowerWeigher" not in [one.name for one in weighers(ALL_WEIGHERS)]
    _install(monkeypatch, "gantt.filters", "gone", "no.such.module:Filter")
    with pytest.raises(Refused, match="'gone' of gantt.filters.*cannot be loaded"):
        filters("ComputeFilter")


@pytest.mark.parametrize(
    ("enabled", "available", "says"),
    [
        ("NopeFilter", "", "enabled_filters names 'NopeFilter'.*Known.*ComputeFilter"),
        (
            "ComputeFilter",
            NOVA_FILTERS + "nope.NopeFilter",
            "available_filters names nova.scheduler.filters.nope.NopeFilter.*Known",
        ),
        ("X", "no.such.Thing", "available_filters names no.such.Thing.*imported"),
        ("X", "nodots", "available_filters names nodots.*imported"),
        ("X", MINE + "no_classes", "no_classes, which gives 3: it must be a class"),
        ("X", MINE + "broken", "ValueError: not today"),
        ("NotAFilter", MINE + "NotAFilter", "NotAFilter is no filter"),
        ("UnmakeableFilter", MINE + "UnmakeableFilter", "cannot be made: OSError"),
    ],
)
def test_refusals_name_option_name_and_reason(
    enabled: str, available: str, says: str
) -> None:
    with pytest.raises(Refused, match=says):
        filters(enabled, available=(available,) if available else ())


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("Nope", "weight_classes names 'Nope'.*Known are.*RAMWeigher"),
        (NOVA_WEIGHERS + "x.Nope", "weight_classes names nova.*Nope.*RAMWeigher"),
    ],
)
def test_unknown_weighers_are_refused(path: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        weighers(path)


def test_notices_are_logged_at_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        filters("RamFilter", "ComputeFilter", "RamFilter")
    assert len(caplog.messages) == 1
    assert "RamFilter is redundant" in caplog.messages[0]
