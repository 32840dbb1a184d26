"""What a service records is decided again, bit for bit, on what each decision saw."""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

import pytest

from gantt.errors import Invalid
from gantt.model.changes import Cursor
from gantt.model.commands import CreateProvider
from gantt.model.spec import (
    Flavor,
    Image,
    InstanceGroup,
    RequestedNetwork,
    RequestSpec,
)
from gantt.placement.group_rules import ANTI_AFFINITY
from gantt.placement.rules import plan
from gantt.replay.process_records import open_records
from gantt.replay.redecision import play
from gantt.replay.redecision_results import Played
from gantt.scheduler.options import SchedulerOptions
from tests.replay.recorded import add_hosts, ask, flush, played, service, text_of, uuid

OLDER = b'{"kind":"gantt record","format":1}\n["started",1,"a"]\n'
HEAD = b'{"kind":"gantt record"}\n["started",1,"a"]\n'
FORM = b'["form",0,{"spec":{}}]\n'
HOSTS = tuple(f"h{number}" for number in range(6))


def test_all_decisions_come_out_the_same(tmp_path: Path) -> None:
    apart = InstanceGroup(uuid(900), ANTI_AFFINITY)
    with service(tmp_path) as gantt:
        add_hosts(gantt, *HOSTS)
        placed = [ask(gantt, number, vcpus=1 + number % 3) for number in range(12)]
        placed.append(ask(gantt, 100, 101, 102, group=apart))
        placed.append(ask(gantt, 103, vcpus=17))
        placed.append(ask(gantt, 104, dry_run=True))
        for number in range(0, 12, 2):
            gantt.delete_allocations(uuid(number))
        placed += [ask(gantt, 200 + number, vcpus=4) for number in range(6)]
    counts, found = played(tmp_path / "record")
    assert [one.hosts for one in found] == placed
    assert [one.recorded_hosts for one in found] == placed
    assert {one.differs_in for one in found} == {()}
    assert (counts.decisions, len(found)) == (21, 21)
    assert not counts.unrepeated
    assert not counts.dropped
    refusal = found[13].again.failure
    assert refusal is not None
    assert refusal.startswith("No valid host was found.")
    assert len(found[12].again.firsts) == 3


def test_a_record_that_was_changed_is_found_out(tmp_path: Path) -> None:
    """The comparison is of what was decided, not of what was written about it."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, *HOSTS)
        ask(gantt, 1)
    (path,) = (tmp_path / "record").iterdir()
    lines = gzip.decompress(path.read_bytes()).split(b"\n")
    place = next(at for at, line in enumerate(lines) if line.startswith(b'["form"'))
    lines[place] = lines[place].replace(b'"vcpus":1', b'"vcpus":17')
    path.write_bytes(gzip.compress(b"\n".join(lines)))
    _, (one,) = played(path)
    assert one.differs_in == ("refusal", "hosts", "scores", "choices")


def test_two_processes_of_one_database_are_merged_by_revision(tmp_path: Path) -> None:
    record = tmp_path / "record"
    with service(tmp_path, record=record) as one, service(tmp_path) as other:
        add_hosts(one, *HOSTS)
        placed = [ask((one, other)[n % 2], n) for n in range(10)]
    assert len(open_records([record], [])) == 2
    _, found = played(record)
    assert {one.differs_in for one in found} == {()}
    assert [one.hosts for one in found] == placed
    assert len({one.process for one in found}) == 2
    revisions = [one.revision for one in found]
    assert revisions == sorted(revisions)


def test_hosts_that_went_do_not_change_who_is_first_of_equals(tmp_path: Path) -> None:
    """The record's snapshot has no row of a host that went; the process that wrote it
    had."""
    usual = SchedulerOptions()
    with service(tmp_path, record=tmp_path / "before") as gantt:
        add_hosts(gantt, *HOSTS)
        gantt.delete_host("h1", "h1")
        gantt.delete_host("h4", "h4")
        add_hosts(gantt, "h7", "h8")
        with service(tmp_path, scheduler=usual) as late:
            assert ask(late, 1) == ("h0",)
            assert ask(late, 2) == ("h2",)
        gantt.decide_by(usual)
        placed = [ask(gantt, 10 + n) for n in range(4)]
    assert placed == [("h3",), ("h5",), ("h7",), ("h8",)]
    for folder in ("before", "record"):
        _, found = played(tmp_path / folder)
        assert {one.differs_in for one in found} == {()}


def test_what_was_applied_and_undone_is_undone_in_the_record(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, *HOSTS)
        replica = gantt._replica
        with replica.turn:
            before = replica.state.cursor
            command = CreateProvider(uuid(1), "never")
            changes = plan(replica.state, command, 1).changes
            with replica.lock:
                replica.assume(changes, Cursor(before.revision + 1, "batch"))
            replica.undo(changes, before)
        placed = ask(gantt, 1)
    _, (one,) = played(tmp_path / "record")
    assert one.hosts == placed
    assert not one.differs_in


def test_files_are_turned_over_and_each_can_be_played_alone(tmp_path: Path) -> None:
    with service(tmp_path, record_file_bytes=1) as gantt:
        add_hosts(gantt, *HOSTS)
        for number in range(6):
            ask(gantt, number)
            flush(gantt)
    paths = sorted((tmp_path / "record").iterdir())
    assert len(paths) > 3
    counts, found = played(*paths)
    assert len(found) == 6
    assert {one.differs_in for one in found} == {()}
    assert counts.files == len(paths)
    _, last = played(*paths[2:])
    assert [one.number for one in last] == [one.number for one in found][-len(last) :]
    assert {one.differs_in for one in last} == {()}
    counts, _ = played(paths[0], *paths[2:])
    assert counts.missing == [f"{found[0].process}, file 2"]


def test_old_files_are_removed_but_not_those_in_use(tmp_path: Path) -> None:
    import os

    record = tmp_path / "record"
    record.mkdir()
    for number in range(3):
        old = record / f"old-{number}.record.gz"
        old.touch()
        os.utime(old, (number, number))
    (record / "of-another.record.gz").touch()
    with service(tmp_path, record_files=2):
        pass
    left = {path.name.partition(".")[0] for path in record.iterdir()}
    assert "of-another" in left
    assert not [name for name in left if name.startswith("old")]


def test_what_is_secret_is_left_out(tmp_path: Path) -> None:
    spec = RequestSpec(
        Flavor(1, 1024),
        image=Image(properties={"hw_vif_model": "virtio", "mine": "IMAGE-SECRET"}),
        project_id="project-1",
        scheduler_hints={"mine": ("HINT-SECRET",)},
        requested_networks=(RequestedNetwork("net", address="ADDRESS-SECRET"),),
    )
    options = SchedulerOptions(
        placement_token="TOKEN-SECRET",
        names_are_checked=True,  # Nova lets any hint through
    )
    with service(tmp_path, scheduler=options) as gantt:
        add_hosts(gantt, *HOSTS)
        ask(gantt, 1, spec=spec)
    text = text_of(tmp_path)
    assert "-SECRET" not in text
    assert "hw_vif_model" in text
    _, (one,) = played(tmp_path / "record")
    assert not one.differs_in
    assert one.left_out == ("hint mine", "image property mine")
    for path in (tmp_path / "record").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_decision_of_another_policy_is_told_apart(tmp_path: Path) -> None:
    with service(tmp_path, scheduler=SchedulerOptions()) as gantt:
        add_hosts(gantt, *HOSTS)
        spread = [ask(gantt, number) for number in range(4)]
    stack = SchedulerOptions(
        multipliers={"cpu_weight_multiplier": -1.0, "ram_weight_multiplier": -1.0}
    )
    paths = [tmp_path / "record"]
    found = list(play(open_records(paths, []), Played(), stack))
    assert [one.recorded_hosts for one in found] == spread
    assert all("scores" in one.differs_in for one in found[1:])


def test_a_policy_that_changed_while_it_ran_is_followed(tmp_path: Path) -> None:
    with service(tmp_path, scheduler=SchedulerOptions()) as gantt:
        add_hosts(gantt, *HOSTS)
        ask(gantt, 1)
        stack = {"cpu_weight_multiplier": -9.0, "ram_weight_multiplier": -9.0}
        gantt.decide_by(SchedulerOptions(multipliers=stack))
        ask(gantt, 2)
    _, found = played(tmp_path / "record")
    assert [one.differs_in for one in found] == [(), ()]
    assert found[0].again.firsts != found[1].again.firsts


def test_a_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, *HOSTS)
        for number in range(50):
            ask(gantt, number)
    (path,) = (tmp_path / "record").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 2000])
    counts, found = played(path)
    assert 0 < len(found) < 50
    assert {one.differs_in for one in found} == {()}
    assert counts.early == [path.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"kind":"gantt record","format":3,"version":"9.1"}\n', "Gantt 9.1 or newer"),
        (OLDER + FORM + b'["began",1,0,0,"books",0]\n', "decisions in format 1 have"),
        (b'{"kind":"other"}\n', "is no record of a service"),
        (b'{"kind":"gantt record"}\n["rows","x"', "ends within its snapshot"),
        (b'{"kind":"gantt record"}\n["what"]\n', ":2: "),
        (b'{"kind":"gantt record"}\n["started",1,"\xff"]\n', ":2: "),
        (b'{"kind":"gantt record"}\n' + b"[" * 100_000 + b"\n", ":2: "),
        (HEAD + b'["rows","what",[]]\n', "what"),
        (HEAD + b'["applied",2,"b",[["what",1,null]]]\n', "the table 'what'"),
        (HEAD + b'["policy",{"enabled_filters":5},1]\n', ":3: options.enabled_filters"),
        (HEAD + FORM + b'["began",1,0,0,"books",0]\n["ended",1,[]]\n', "any policy"),
        (HEAD + FORM + b'["began",1,0,0,"books",1]\n["ended",1,[]]\n', "no form 1"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "a.record.gz"
    path.write_bytes(gzip.compress(text))
    with pytest.raises(Invalid, match=message):
        played(path)


def test_files_without_a_whole_snapshot_are_told_and_left_out(tmp_path: Path) -> None:
    """A process that is killed while it begins a file leaves one."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, *HOSTS)
        ask(gantt, 1)
    record = tmp_path / "record"
    (record / "a.record.gz").touch()
    text = b'{"kind":"gantt record","process":"b"}\n["rows","x"'
    (record / "b.record.gz").write_bytes(gzip.compress(text)[:-8])
    counts, found = played(record)
    assert [one.differs_in for one in found] == [()]
    assert sorted(counts.early) == ["a.record.gz", "b.record.gz"]
    assert counts.files == 1


def test_a_file_that_is_not_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.record.gz"
    path.write_bytes(b"text")
    with pytest.raises(Invalid, match="is damaged"):
        played(path)
