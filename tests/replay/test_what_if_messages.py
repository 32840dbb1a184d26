"""Each message about a what-if names the file, the entry, what is wrong, and what to
do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from gantt.errors import GanttError, Invalid
from gantt.model.answers import Inventory
from gantt.replay.machines import Machine
from gantt.replay.run import ReplaySettings
from gantt.replay.snapshots import LoadedSnapshot, of_lines
from gantt.replay.trace_trial import try_trace
from gantt.replay.traces import Trace
from gantt.replay.what_if import Added, AllocationRatio, OtherFlavor, WhatIf
from gantt.replay.what_if_file import ALLOWED, read_what_if
from gantt.replay.what_if_run import tried
from gantt.scheduler.options import SchedulerOptions
from tests.replay.recorded import add_hosts, service

SMALL = '[[flavors]]\nname = "small"\n'
VCPU = '[[ratios]]\nresource_class = "VCPU"\nratio = 1.0\n'
LIKE = '[[add]]\nlike = "h0"\n'
WHOLE = "a whole number from 0 to 2147483647"

# What the file is, the entry that is named, and what else is said.
READ = [
    ("remov = ['h0']", "", "remov, which is not known: write add, "),
    ('where = "x"', "", "where, which is not known: write add, "),
    ("remove = 'h0'", "", 'remove must be a list of names of hosts, such as ["'),
    ("drain = { a = 1 }", "", "drain must be a list of names of hosts"),
    ("remove = ['h0', 1]", "", "remove[1] is 1: it must be the name of a host."),
    ("drain = ['h0', 1]", "", "drain[1] is 1: it must be the name of a host."),
    ("add = 1", "", "add must be a list of tables: write [[add]] for each."),
    ("[ratios]\nratio = 1", "", "ratios must be a list of tables: write [[ratios]]"),
    ("[flavors]\nname = 'a'", "", "flavors must be a list of tables"),
    ("flavors = [1]", "", "flavors[0] must be a table: write [[flavors]] for it."),
    ("options = 1", "", "options must be a table: write [options]."),
    ("[options]\nchoices = 0", "", "options.choices is 0: it must be a whole number"),
    ("[options]\nmultipliers = 1", "", "options.multipliers is 1: it must be a table"),
    (LIKE + "[[add]]\ncount = 2", "add[1]", "it must have either like or fleet."),
    (LIKE + 'fleet = "1xvcpus=1"', 'add[0] "h0"', "it must have either like or fleet."),
    (
        '[[add]]\nfleet = "2xvcpus=1"\ncount = 7',
        'add[0] "2xvcpus=1"',
        "count goes with like: of a fleet, write 7x before it.",
    ),
    (LIKE + "cuont = 2", 'add[0] "h0"', "it has cuont, which is not known: write coun"),
    (LIKE + "count = 0", 'add[0] "h0"', "count is 0: it must be a whole number from 1"),
    (LIKE + "count = 1.5", 'add[0] "h0"', "count is 1.5: it must be a whole number"),
    ("[[add]]\nlike = 1", "add[0]", "like is 1: it must be the name of a host."),
    ("[[add]]\nfleet = 1", "add[0]", "fleet is 1: it must be a fleet in words, or"),
    (VCPU + "rate = 2", 'ratios[0] "VCPU"', "it has rate, which is not known: write r"),
    (VCPU + "hosts = 'h0'", 'ratios[0] "VCPU"', "hosts is 'h0': it must be a list of"),
    (VCPU + "hosts = ['h0', 1]", 'ratios[0] "VCPU"', "hosts[1] is 1: it must be the n"),
    (VCPU + "hosts = []", 'ratios[0] "VCPU"', "hosts is empty: it must be a list of n"),
    (
        VCPU.replace("1.0", "0"),
        'ratios[0] "VCPU"',
        "ratio is 0: it must be a number ab",
    ),
    (VCPU.replace("1.0", "nan"), 'ratios[0] "VCPU"', "ratio is nan: it must be a numb"),
    (VCPU.replace("1.0", "2e6"), 'ratios[0] "VCPU"', "ratio is 2000000.0: it must be"),
    (VCPU.replace("1.0", "'x'"), 'ratios[0] "VCPU"', "ratio is 'x': it must be a numb"),
    ("[[ratios]]\nratio = 1", "ratios[0]", "it has no resource_class, which must be"),
    (
        "[[ratios]]\nresource_class = 'VCPU'",
        'ratios[0] "VCPU"',
        "it has no ratio, which must be a number above 0, up to 1,000,000.",
    ),
    (
        "[[ratios]]\nresource_class = 1\nratio = 1",
        "ratios[0]",
        "resource_class is 1: it",
    ),
    ("[[flavors]]\nvcpus = 1", "flavors[0]", "it has no name, which must be the name"),
    ("[[flavors]]\nname = 1", "flavors[0]", "name is 1: it must be the name of a fl"),
    (
        SMALL + "vcpu = 1",
        'flavors[0] "small"',
        "it has vcpu, which is not known: write",
    ),
    (
        SMALL + "vcpus = true",
        'flavors[0] "small"',
        f"vcpus is True: it must be {WHOLE}",
    ),
    *(
        (
            f"{SMALL}{name} = -1",
            'flavors[0] "small"',
            f"{name} is -1: it must be {WHOLE}",
        )
        for name in ("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap")
    ),
    (
        SMALL + "extra_specs = 1",
        'flavors[0] "small"',
        "extra_specs is 1: it must be a t",
    ),
    (
        SMALL + 'extra_specs = { a = "1", "hw:cpu_policy" = 1 }',
        'flavors[0] "small"',
        'extra_specs["hw:cpu_policy"] is 1: it must be text in quotes',
    ),
    (
        SMALL + "[[flavors]]\nname = 'other'\n" + SMALL,
        'flavors[2] "small"',
        "flavors[0] has this name too: leave out one.",
    ),
]

# What only the books, or the fleet of a trace, can tell.
TRIED = [
    ("remove = ['h0', 'h7']", "remove", "there is no host h7: name hosts that there a"),
    ("drain = ['h7']", "drain", "there is no host h7: name hosts that there are."),
    ("[[add]]\nlike = 'h7'", 'add[0] "h7"', "there is no host h7: name hosts that the"),
    (VCPU + VCPU + "hosts = ['h7']", 'ratios[1] "VCPU"', "there is no host h7: name"),
    (
        VCPU.replace("VCPU", "VCPUS"),
        'ratios[0] "VCPUS"',
        "no host has an inventory of VCPUS; name a resource class that hosts have.",
    ),
    (
        LIKE + '[[add]]\nfleet = "2xvcpu=1"',
        'add[1] "2xvcpu=1"',
        "'2xvcpu=1': 'vcpu=1' is not known; write COUNTxvcpus=N",
    ),
    (
        '[[add]]\nfleet = "100001xvcpus=1"',
        'add[0] "100001xvcpus=1"',
        "the fleet has 100,001 hosts; at most 100,000 may be added: write fewer.",
    ),
    (
        LIKE + '[[add]]\nfleet = "1xFOO=1"',
        'add[1] "1xFOO=1"',
        "what-if-2: No such resource class FOO: name one that there is, or begin it",
    ),
    (
        '[[add]]\nfleet = "1xvcpus=1,trait=NO"',
        'add[0] "1xvcpus=1,trait=NO"',
        "what-if-1: No such trait NO: name one that there is, or begin it with CUSTOM_",
    ),
    (
        '[[add]]\nfleet = "1xCUSTOM_-=1"',
        'add[0] "1xCUSTOM_-=1"',
        "The resource class CUSTOM_- is invalid. A valid resource class must",
    ),
    (
        '[[add]]\nfleet = "no.json"',
        'add[0] "no.json"',
        "'no.json' is no fleet in words, and no file that can be read",
    ),
    ("[options]\nno = 1", "", "options has no, which cannot be changed: name options"),
    ("[options]\nplacement = 'x'", "", "options has placement, which cannot be chang"),
    ("[options]\nmultipliers = { no = 1 }", "", "options has no, which cannot be chan"),
    ("[options]\nenabled_filters = ['No']", "options", "enabled_filters names 'No', w"),
    ("[options]\ndriver = 'no'", "options", "driver of [scheduler] is 'no'; there is "),
]


def written(folder: Path, text: str) -> Path:
    path = folder / "what-if.toml"
    path.write_text(text)
    return path


def expect(refusal: GanttError, path: Path, entry: str, told: str) -> None:
    assert refusal.message.startswith(f"{path}: {entry}{': ' * bool(entry)}{told}")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> LoadedSnapshot:
    """h0 and h1."""
    folder = tmp_path_factory.mktemp("books")
    with service(folder, scheduler=SchedulerOptions()) as gantt:
        add_hosts(gantt, "h0", "h1")
        return of_lines(gantt.snapshot_lines(), "here")


class NoArrivals:
    """A reader of a trace in which nothing happens."""

    skipped: tuple[Any, ...] = ()

    def arrivals(self) -> Iterator[Any]:
        yield from ()


TRACE = Trace("test", NoArrivals())  # type: ignore[arg-type]
FLEET = [Machine(name, {"VCPU": Inventory(4)}) for name in ("h0", "h1")]


@pytest.mark.parametrize(("text", "entry", "told"), READ)
def test_what_is_wrong_in_the_file(
    tmp_path: Path, text: str, entry: str, told: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(Invalid) as refused:
        read_what_if(path)
    expect(refused.value, path, entry, told)


def test_what_is_no_toml_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, "no toml")
    with pytest.raises(Invalid, match=r"is not TOML as UTF-8: .*at line \d") as refused:
        read_what_if(path)
    assert refused.value.message.startswith(str(path))


@pytest.mark.parametrize(("text", "entry", "told"), TRIED)
def test_what_cannot_be_done_to_the_books(
    books: LoadedSnapshot, tmp_path: Path, text: str, entry: str, told: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(GanttError) as refused:
        tried(books, read_what_if(path))
    expect(refused.value, path, entry, told)


@pytest.mark.parametrize(
    ("text", "entry", "told"),
    [
        *TRIED,
        ("drain = ['h0', 'h1']", "", "no machine is left: remove or drain fewer."),
    ],
)
def test_what_cannot_be_done_to_the_fleet_of_a_trace(
    tmp_path: Path, text: str, entry: str, told: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(GanttError) as refused:
        try_trace(TRACE, FLEET, ReplaySettings(), read_what_if(path))
    expect(refused.value, path, entry, told)


def test_without_a_file_the_entry_is_named() -> None:
    what_if = WhatIf(ratios=(AllocationRatio("VCPUS", 1.0),))
    with pytest.raises(Invalid, match=r'\Aratios\[0\] "VCPUS": no host has'):
        try_trace(TRACE, FLEET, ReplaySettings(), what_if)


def test_each_key_says_what_it_must_be() -> None:
    keys = {
        one.name
        for kind in (Added, AllocationRatio, OtherFlavor)
        for one in fields(kind)
    }
    assert keys == set(ALLOWED)
