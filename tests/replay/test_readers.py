"""Traces of others become arrivals; what cannot be read is told by line and field."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path

import pytest

from gantt.errors import Invalid
from gantt.replay.readers.azure import Azure
from gantt.replay.readers.csv_mapping import Mapped, read_mapping
from gantt.replay.readers.openb import GPU, Openb
from gantt.replay.readers.tianchi import Tianchi
from gantt.replay.traces import open_trace
from tests.replay.fleets import replayed

_SECOND = 1_000_000


def _packed(path: Path, *lines: str) -> None:
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))


# -- Azure ---------------------------------------------------------------------------


def _azure(
    folder: Path,
    flavors: Sequence[str] = ("300 a,b,|,b,|,", "600 a,"),
    durations: Sequence[str] = ("300 U0,U1,|,C1,|,", "600 U1,"),
) -> Path:
    (folder / "flav_map.txt").write_text("1,0.75 a\n2,3.5 b\n")
    (folder / "v1.interval_map.txt").write_text("0 0\n300 1\n600 1\n")
    _packed(folder / "v1.test.txt.xz", *flavors)
    _packed(folder / "v1.test.c900.txt.xz", *durations)
    return folder


def test_azure_gives_each_instance_its_time_size_and_end(tmp_path: Path) -> None:
    found = list(Azure(_azure(tmp_path)).arrivals())
    assert [one.names for one in found] == [
        ("vm-1-0",), ("vm-1-1",), ("vm-1-3",), ("vm-2-0",)
    ]  # fmt: skip
    sizes = [(one.spec.flavor.vcpus, one.spec.flavor.memory_mb) for one in found]
    assert sizes == [(1, 768), (2, 3584), (2, 3584), (1, 768)]
    assert [one.at // _SECOND for one in found] == [0, 60, 180, 300]
    lasts = [None if one.until[0] is None else one.until[0] - one.at for one in found]
    assert 0 < (lasts[0] or 0) <= 300 * _SECOND
    assert 300 * _SECOND < (lasts[1] or 0) <= 900 * _SECOND
    assert lasts[2] is None, "it was alive at the end of the trace"


def test_azure_draws_ends_by_seed(tmp_path: Path) -> None:
    folder = _azure(tmp_path)
    first, again, other = (
        list(Azure(folder, seed=seed).arrivals()) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_azure_batches_can_be_placed_together(tmp_path: Path) -> None:
    folder = _azure(
        tmp_path, ["300 a,b,a,|,a,|,"], ["300 U0,U1,U0,|,U0,|,"]
    )  # fmt: skip
    found = list(Azure(folder, together=True).arrivals())
    assert [one.names for one in found] == [
        ("vm-1-0", "vm-1-2"),
        ("vm-1-1",),
        ("vm-1-4",),
    ]


@pytest.mark.parametrize(
    ("flavors", "durations", "told"),
    [
        ("300 a,z,|,", "300 U0,U0,|,", "v1.test.txt.xz:1: flavor 2: unknown: 'z'"),
        ("300 a,a,|,", "300 U0,U99,|,", "v1.test.txt.xz:1: duration 2: unknown: 'U99'"),
        ("300 a,a,|,", "300 U0,|,", "v1.test.txt.xz:1: durations: 2 for 3 flavors"),
    ],
)
def test_azure_tells_what_it_skips(
    tmp_path: Path, flavors: str, durations: str, told: str
) -> None:
    trace = Azure(_azure(tmp_path, [flavors], [durations]))
    list(trace.arrivals())
    assert list(map(str, trace.skipped)) == [told]


def test_azure_files_of_two_releases_are_refused(tmp_path: Path) -> None:
    trace = Azure(_azure(tmp_path, ["300 a,|,"], ["600 U0,|,"]))
    with pytest.raises(Invalid, match="one release"):
        list(trace.arrivals())


# -- openb ---------------------------------------------------------------------------


def _openb(folder: Path, *pods: str) -> Path:
    _packed(
        folder / "openb_node_list_all_node.csv.xz",
        "sn,cpu_milli,memory_mib,gpu,model",
        "n0,8000,16384,0,",
        "n1,8000,16384,2,T4",
        "n2,8000,16384,1,A10",
    )
    _packed(
        folder / "openb_pod_list_default.csv.xz",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
        "creation_time,deletion_time,scheduled_time",
        *pods,
    )
    return folder


def test_parts_of_gpus_share_one_and_whole_gpus_do_not(tmp_path: Path) -> None:
    folder = _openb(
        tmp_path,
        "half-1,1000,1024,1,500,A10,LS,Running,0,,0",
        "half-2,1000,1024,1,500,A10,LS,Running,1,,1",
        "half-3,1000,1024,1,500,A10,LS,Running,2,,2",
        "two,1000,1024,2,1000,,LS,Running,3,,3",
        "more,1000,1024,2,1000,,LS,Running,4,,4",
        "none,1000,1024,0,0,,LS,Running,5,,5",
    )
    trace = open_trace(folder)
    replay, decided = replayed(trace.machines, *trace.reader.arrivals())
    hosts = {one.names[0]: one.hosts for one in decided}
    assert hosts["half-1"] == hosts["half-2"] == ("n2",)
    assert hosts["half-3"] == ()
    assert hosts["two"] == ("n1",)
    assert hosts["more"] == ()
    assert hosts["none"] != ()
    assert replay.outcome.samples[-1].classes[GPU].capacity == 3000


def test_a_gpu_of_any_named_model_will_do(tmp_path: Path) -> None:
    folder = _openb(
        tmp_path,
        "a,1000,1024,1,1000,T4|A10,LS,Running,0,,0",
        "b,1000,1024,1,1000,T4|A10,LS,Running,1,,1",
        "c,1000,1024,1,1000,T4|A10,LS,Running,2,,2",
        "d,1000,1024,1,1000,V100,LS,Running,3,,3",
    )
    trace = open_trace(folder)
    _, decided = replayed(trace.machines, *trace.reader.arrivals())
    assert sorted(one.hosts for one in decided[:3]) == [("n1",), ("n1",), ("n2",)]
    assert decided[3].hosts == ()


def test_a_task_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = _openb(
        tmp_path, "a,many,1024,0,0,,LS,Running,0,,0", "b,1,2", "c,1,1,0,0,,,,0,,0"
    )
    trace = Openb(folder)
    assert [one.names for one in trace.arrivals()] == [("c",)]
    assert [(one.line, one.field) for one in trace.skipped] == [
        (2, "task"),
        (3, "line"),
    ]


# -- Tianchi ---------------------------------------------------------------------------


def test_rules_of_an_app_with_itself_become_groups(tmp_path: Path) -> None:
    _packed(tmp_path / "machine_resources.a.csv.xz", "m1,92,288,1024,7,7,9", "m2,x,1,1")
    _packed(
        tmp_path / "instance_deploy.a.csv.xz",
        *(f"i{n},app,m1" for n in range(4)),
        "bad",
    )
    _packed(tmp_path / "app_interference.csv.xz", "app,app,1", "app,other,0", "app,x")
    trace = Tianchi(tmp_path)
    fleet = trace.machines()
    replay, decided = replayed(fleet, *trace.arrivals())
    assert [bool(one.hosts) for one in decided] == [True, True, False, False]
    assert replay.outcome.violations == 0
    assert trace.left_out == 1
    assert [(one.file[:8], one.line) for one in trace.skipped] == [
        ("machine_", 2), ("app_inte", 3), ("instance", 5)
    ]  # fmt: skip


# -- CSV -------------------------------------------------------------------------------

MAPPING = """
[columns]
name = "vm"
at = { column = "made", unit = "min" }
lasts = { column = "hours", unit = "h" }
vcpus = "cores"
memory_mb = { column = "gib", scale = 1024 }
group = "team"
[resources]
CUSTOM_GPU = "gpus"
"""


def _mapped(folder: Path, *lines: str, mapping: str = MAPPING) -> Mapped:
    (folder / "m.toml").write_text(mapping)
    (folder / "t.csv").write_text("".join(f"{line}\n" for line in lines))
    return Mapped(folder / "t.csv", read_mapping(folder / "m.toml"))


def test_a_mapping_names_the_columns(tmp_path: Path) -> None:
    trace = _mapped(
        tmp_path,
        "vm,made,hours,cores,gib,team,gpus,other",
        "b,12,,2,4,red,1,x",
        "a,10,1.5,1,0.5,,0,y",
    )
    first, second = trace.arrivals()
    assert (first.names, first.at, first.until) == (("a",), 0, (5400 * _SECOND,))
    assert (second.at, second.until) == (120 * _SECOND, (None,))
    assert (second.spec.flavor.vcpus, second.spec.flavor.memory_mb) == (2, 4096)
    assert second.spec.requested_resources[0].resources == {"CUSTOM_GPU": 1}
    assert second.spec.instance_group is not None
    assert first.spec.instance_group is None


def test_lines_that_cannot_be_read_are_told_by_line_and_field(tmp_path: Path) -> None:
    trace = _mapped(
        tmp_path,
        "vm,made,hours,cores,gib,team,gpus",
        "a,soon,1,1,1,,0",
        "b,1,1,-2,1,,0",
        "c,1,1,1,1,,0,more",
        "d,1,1,1,1e99,,0",
        "e,1,1,1,1,,0",
    )
    assert [one.names for one in trace.arrivals()] == [("e",)]
    assert sorted((one.line, one.field) for one in trace.skipped) == [
        (2, "made"), (3, "cores"), (4, "line"), (5, "gib")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ("[columns]\nname = 'a'\n", "missing required field `at`"),
        ("[columns]\nname='a'\nat={column='b',unit='years'}\n", "unit 'years'"),
        ("[columns]\nname='a'\nat='b'\ncpus='c'\n", "unknown field `cpus`"),
        ("name = 1", "Expected `object`|missing|unknown field"),
        ("[columns", "Expected"),
        (MAPPING + "CUSTOM_TPU = 1", r"resources\[\"CUSTOM_TPU\"\] is 1: .*Write the"),
        (
            MAPPING + "CUSTOM_TPU = { column = 'a', scal = 2 }",
            r"resources\[\"CUSTOM_TPU\"\] is .* unknown field `scal`",
        ),
    ],
)
def test_a_mapping_that_means_nothing_is_refused(
    tmp_path: Path, mapping: str, told: str
) -> None:
    with pytest.raises(Invalid, match=told):
        _mapped(tmp_path, "a,b", mapping=mapping)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no column 'made'"):
        list(_mapped(tmp_path, "vm,hours,cores,gib,team,gpus", "a,1,1,1,,").arrivals())


def test_a_file_that_is_broken_off_is_refused(tmp_path: Path) -> None:
    folder = _openb(tmp_path, "a,1,1,0,0,,,,0,,0")
    pods = folder / "openb_pod_list_default.csv.xz"
    pods.write_bytes(pods.read_bytes()[:-20])
    with pytest.raises(Invalid, match="not readable from here on"):
        list(Openb(folder).arrivals())


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_a_trace_that_is_not_known_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(Invalid, match="does not exist|no trace that is known"):
        open_trace(tmp_path / name)


def test_options_that_do_nothing_for_a_trace_are_refused(tmp_path: Path) -> None:
    folder = _openb(tmp_path, "a,1,1,0,0,,,,0,,0")
    with pytest.raises(Invalid, match="a trace of openb, for which --mapping does"):
        open_trace(folder, mapping=tmp_path / "map.toml")
    with pytest.raises(Invalid, match="a trace of openb, for which --together does"):
        open_trace(folder, together=True)
