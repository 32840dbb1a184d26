"""The contract of every filter: its mask depends on what it declares, row by row."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.scheduler.contract import Cacheable, Filter, Weigher
from gantt.scheduler.evaluation.evaluation import OF_USE
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.plugins import registry
from gantt.scheduler.plugins.declared_reads import UndeclaredReads, hosts_of, request_of
from gantt.scheduler.scoring import weighers
from gantt.scheduler.scoring.weighers.metrics import MetricsWeigher
from gantt.state.host_table import HostTable as Table
from tests.scheduler.fleets import Plan, all_hosts, fleets, request, specs
from tests.state.books import claim as claim_row

FILTERS = [one() for one in registry.built_in_filters().values()]
WEIGHERS = [
    one()
    for one in registry.built_in(weighers, Weigher).values()
    if one().is_elementwise and one is not MetricsWeigher
]
ALL_WEIGHERS = [one() for one in registry.built_in(weighers, Weigher).values()]
ELEMENTWISE = [one for one in FILTERS if one.is_elementwise]
OPTIONS: dict[str, Any] = {
    "isolated_images": ("im1",),
    "isolated_hosts": ("h1", "h2"),
    "max_io_ops_per_host": 5,
    "max_instances_per_host": 5,
    "metrics_weight_setting": {"cpu.percent": 1.0},
}


def _name(one: Filter) -> str:
    return one.name


# A fleet takes far longer to think of than a mask: each is asked of every filter.


@given(fleets(), specs(), st.data())
def test_mask_of_a_row_does_not_depend_on_others(
    plan: Plan, spec: RequestSpec, data: st.DataObject
) -> None:
    state = plan.state()
    hosts = all_hosts(state)
    size = st.lists(st.booleans(), min_size=len(hosts), max_size=len(hosts))
    chosen = np.array(data.draw(size), np.bool_)
    some = Hosts(state.fleet, hosts.rows[chosen])
    for one in ELEMENTWISE:
        asked = request(_fitting(one, spec), **OPTIONS)
        expected = one.mask(hosts, asked)[chosen].tolist()
        assert one.mask(some, asked).tolist() == expected, one.name
        assert one.mask(hosts.keep(chosen), asked).tolist() == expected, one.name


@given(fleets(), specs(), st.integers(0, 7))
def test_claims_do_not_affect_filters_that_read_no_usage(
    plan: Plan, spec: RequestSpec, number: int
) -> None:
    """Drivers rely on ``needs``: after a claim they ask only filters that read use."""
    state = plan.state()
    asked = request(spec, **OPTIONS)
    judges = [one for one in ELEMENTWISE if OF_USE.isdisjoint(_declared(one).needs)]
    scorers = [one for one in WEIGHERS if OF_USE.isdisjoint(_declared(one).needs)]

    def said() -> dict[str, list[Any]]:
        hosts = all_hosts(state)
        masks = {one.name: one.mask(hosts, asked).tolist() for one in judges}
        return masks | {one.name: one.score(hosts, asked).tolist() for one in scorers}

    before = said()
    rows = state.fleet.hosts.live_rows()
    assume(len(rows))
    row = int(rows[number % len(rows)])
    host_id = int(state.fleet.hosts.id[row])
    claim = claim_row(number=900 + number, instance="new", host=host_id)
    change = Change(t.BOOKINGS, claim.id, None, claim)
    state.apply([change], Cursor(state.revision + 1, "claim"))
    assert said() == before


@given(fleets(), specs(), specs())
def test_undeclared_request_fields_do_not_matter(
    plan: Plan, spec: RequestSpec, other: RequestSpec
) -> None:
    hosts = all_hosts(plan.state())
    for one in FILTERS:
        fitting, mixed = _fitting(one, spec), other
        for path in _declared(one).reads:
            mixed = _with(mixed, path.split("."), fitting)
        expected = one.mask(hosts, request(fitting, **OPTIONS)).tolist()
        found = one.mask(hosts, request(mixed, **OPTIONS)).tolist()
        assert found == expected, one.name


@given(fleets(), specs())
def test_only_declared_columns_are_read(plan: Plan, spec: RequestSpec) -> None:
    hosts = all_hosts(plan.state())
    everything: tuple[Filter | Weigher, ...] = (*FILTERS, *ALL_WEIGHERS)
    for one in everything:
        mistakes = UndeclaredReads()
        is_timed = isinstance(one, Filter) and type(one).lasts is not Filter.lasts
        asked = request_of(
            request(_fitting(one, spec), **OPTIONS),
            _declared(one),
            mistakes,
            is_timed=is_timed,
        )
        seen = hosts_of(hosts, _declared(one), mistakes)
        # One that swallowed the error would be found by its slip.
        with suppress(Invalid):
            one.is_neutral(asked)
            if isinstance(one, Weigher):
                one.score(seen, asked)
                continue
            one.mask(seen, asked)
            one.lasts(seen, asked)
            for place in range(len(hosts)):
                one.limits(seen, asked, place)
        assert mistakes.text == "", one.name


@pytest.mark.parametrize("one", FILTERS, ids=_name)
def test_mask_is_a_new_array(one: Filter) -> None:
    state = Plan([{"host": "h1"}, {"host": "h2"}]).state()
    hosts = all_hosts(state)
    mask = one.mask(hosts, request())
    assert mask.dtype == np.bool_ and mask.shape == (2,)
    mask[:] = ~mask
    assert one.mask(hosts, request()).tolist() == (~mask).tolist()
    no_hosts = Hosts(state.fleet, hosts.rows[:0])
    assert one.mask(no_hosts, request()).shape == (0,)


@pytest.mark.parametrize("one", FILTERS, ids=_name)
def test_declared_columns_exist(one: Filter) -> None:
    for name in _declared(one).needs:
        is_other = name.startswith("factor:") or name in (
            "instances",
            "claims",
            "topology",
        )
        assert is_other or name in Table.specs, name
    for path in _declared(one).reads:
        _at(RequestSpec(flavor=Flavor(), image=Image()), path.split("."))


def _declared(one: Filter | Weigher) -> Cacheable:
    """Ours all declare what they read."""
    assert one.cacheable is not None, one.name
    return one.cacheable


def _fitting(one: Filter | Weigher, spec: RequestSpec) -> RequestSpec:
    """``spec`` without what is refused, for the filters that refuse."""
    return RequestSpec() if "pci_requests" in _declared(one).reads else spec


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


def _with(spec: RequestSpec, path: list[str], source: RequestSpec) -> RequestSpec:
    """``spec`` with what ``source`` has at ``path``; no image is an empty one."""
    if len(path) == 1:
        return msgspec.structs.replace(spec, **{path[0]: getattr(source, path[0])})
    owner, name = path
    old, new = getattr(spec, owner), getattr(source, owner)
    if isinstance(old, dict):
        kept = {key: value for key, value in old.items() if key != name}
        whole: Any = kept | ({name: new[name]} if name in new else {})
    else:
        value = getattr(new or Image(), name)
        whole = msgspec.structs.replace(old or Image(), **{name: value})
    return msgspec.structs.replace(spec, **{owner: whole})
