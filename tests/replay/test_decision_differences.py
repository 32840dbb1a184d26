"""Two replays are compared decision by decision, if they saw the same."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gantt.errors import Conflict, Invalid
from gantt.replay import decision_files
from gantt.replay.decision_differences import compare
from gantt.replay.decision_files import Counted, Decisions, Header
from gantt.replay.events import Arrival
from gantt.replay.machines import Machine
from gantt.replay.run import Replay, ReplaySettings
from gantt.scheduler.options import SchedulerOptions
from tests.replay.fleets import arrival, machines

STACK = SchedulerOptions(
    multipliers={
        "cpu_weight_multiplier": -1.0,
        "ram_weight_multiplier": -1.0,
        "io_ops_weight_multiplier": 0.0,
    }
)
TRACE = tuple(arrival(n, f"i{n}", vcpus=v) for n, v in enumerate((1, 1, 2, 4, 5)))


def written(
    path: Path,
    options: SchedulerOptions | None = None,
    fleet: tuple[Machine, ...] = machines(2),
    trace: tuple[Arrival, ...] = TRACE,
) -> Decisions:
    settings = ReplaySettings(options or SchedulerOptions())
    replay, asked = Replay(fleet, settings), Counted(trace)
    header = Header(
        version="1.2.3",
        trace="test",
        fleet=decision_files.fleet_digest(fleet),
        policy=decision_files.policy_of(settings),
    )
    decision_files.write(path, header, replay.run(asked), asked)
    return Decisions(path)


@pytest.mark.parametrize("ending", ["jsonl", "gz", "xz"])
def test_the_same_policy_decides_the_same(tmp_path: Path, ending: str) -> None:
    one, other = (written(tmp_path / f"{name}.{ending}") for name in "ab")
    found = compare(one, other)
    assert found.is_identical
    assert found.arrivals == 5
    assert one.footer == other.footer


def test_another_policy_decides_otherwise(tmp_path: Path) -> None:
    one, other = written(tmp_path / "a.gz"), written(tmp_path / "b.gz", STACK)
    found = compare(one, other)
    assert not found.is_identical
    assert found.same + found.moved + found.only_one + found.only_other == 5
    # The fourth takes a whole host, and stacked before are only three of the other.
    assert found.only_other == 1
    assert found.reasons == {("one", "VCPU"): 1}
    assert other.header.policy["cpu_weight_multiplier"] == -1.0
    assert found.examples[0].one.number == found.examples[0].other.number


def test_sides_that_saw_other_data_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path / "a.gz")
    fleet = written(tmp_path / "b.gz", fleet=machines(3))
    with pytest.raises(Conflict, match="another fleet"):
        compare(one, fleet)
    one = written(tmp_path / "c.gz")
    trace = written(tmp_path / "d.gz", trace=TRACE[:3])
    with pytest.raises(Conflict, match="another trace"):
        compare(one, trace)


def test_a_newer_format_names_the_version_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    written(path)
    lines = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(lines.replace(b'"format":1', b'"format":2')))
    with pytest.raises(Invalid, match=r"Gantt 1\.2\.3 or newer"):
        Decisions(path)


@pytest.mark.parametrize("size", [0.3, 0.7, 0.97])
def test_a_file_that_ends_early_is_refused(tmp_path: Path, size: float) -> None:
    path = tmp_path / "a.jsonl"
    written(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * size)])
    with pytest.raises(Invalid):
        list(Decisions(path))


@pytest.mark.parametrize("raw", [b"", b"{}", b"\x1f\x8b\x00", b"name,at\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(raw)
    with pytest.raises(Invalid, match=r"no file of decisions|cannot be read"):
        Decisions(path)
