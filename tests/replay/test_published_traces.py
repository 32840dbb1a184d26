"""The published traces, read whole or in their first part."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from gantt.replay.readers.azure import Azure
from gantt.replay.readers.openb import Openb
from gantt.replay.readers.tianchi import Tianchi
from gantt.replay.traces import open_trace
from tests.replay.conftest import AZURE, OPENB, TIANCHI
from tests.replay.fleets import machines, replayed


def test_azure_has_all_creations_of_its_test_split() -> None:
    trace = Azure(AZURE)
    count = ended = 0
    last = 0
    for one in trace.arrivals():
        count += 1
        ended += one.until[0] is not None
        assert one.at >= last
        last = one.at
    assert count == 410_276
    assert trace.skipped == []
    assert 0 < count - ended < 37_628, "alive at the end; dev and test have 37,628"


def test_azure_replays_the_same_twice() -> None:
    fleet = machines(100, 64, 262_144)
    first, second = (
        replayed(fleet, *islice(Azure(AZURE).arrivals(), 2_000))[1] for _ in range(2)
    )
    assert first == second
    assert all(one.hosts for one in first[:100])


def test_openb_has_all_nodes_gpus_and_tasks() -> None:
    trace = Openb(OPENB)
    fleet = trace.machines()
    assert (len(fleet), sum(len(one.parts) for one in fleet)) == (1_523, 6_212)
    assert sum(1 for _ in trace.arrivals()) == 8_152
    assert trace.skipped == []


def test_openb_places_its_first_tasks() -> None:
    trace = open_trace(OPENB)
    replay, decided = replayed(trace.machines, *islice(trace.reader.arrivals(), 300))
    assert Counter(bool(one.hosts) for one in decided) == {True: 300}
    assert replay.outcome.conflicts == 0


def test_tianchi_keeps_every_limit_of_an_app() -> None:
    trace = Tianchi(TIANCHI)
    fleet = trace.machines()
    assert len(fleet) == 8_000
    replay, decided = replayed(fleet, *islice(trace.arrivals(), 1_000))
    assert len(decided) == 1_000
    assert replay.outcome.violations == 0
    assert trace.skipped == []
    assert trace.left_out > 20_000
