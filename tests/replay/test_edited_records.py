"""A record whose rows were edited is refused with file, line and change."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import msgspec
import pytest

from gantt.errors import Invalid, Refused
from gantt.replay.snapshots import of_file
from tests.replay.recorded import add_hosts, ask, played, service, uuid


def edited(tmp_path: Path, old: str, new: str) -> tuple[str, int, int]:
    """Edits the first match of ``old`` in a line of changes; where the file, the line
    and the change of that line are."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, "h0", "h1")
        ask(gantt, 1)
        ask(gantt, 2)
        gantt.delete_allocations(uuid(1))
    (path,) = (tmp_path / "record").iterdir()
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    for number, line in enumerate(lines):
        found = re.search(old, line)
        if line.startswith('["applied"') and found:
            lines[number] = line[: found.start()] + new + line[found.end() :]
            changes = msgspec.json.decode(lines[number])[3]
            before = msgspec.json.decode(line)[3]
            at = next(i for i, one in enumerate(changes) if one != before[i])
            path.write_bytes(gzip.compress("\n".join(lines).encode()))
            return str(path), number + 1, at
    raise AssertionError(f"no line of changes has {old}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r'"allocations",1,\[', '"allocations",9000,[', "has the key 9000"),
        (r'"allocations",1,null', '"allocations",9000,null', "key 9000, does not fit"),
        (r'"consumers",1,null', '"consumers",9000,null', "key 9000, does not fit"),
        (r'"consumers",1,\[1,', '"consumers",1,["x",', "cannot be read"),
        (r'"allocations",1,\[1,\d+', '"allocations",1,[1,9000', "does not fit"),
        (r'"allocations",1,', '"allocationz",1,', "'allocationz'"),
    ],
)
def test_rows_that_do_not_fit_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path, line, change = edited(tmp_path, old, new)
    with pytest.raises(Invalid) as refusal:
        played(Path(path))
    told = refusal.value.message
    assert told.startswith(f"{path}:{line}: changes[{change}]")
    assert message in told


def test_a_snapshot_of_an_edited_record_is_refused(tmp_path: Path) -> None:
    path, line, change = edited(
        tmp_path, r'"allocations",1,\[', '"allocations",[1,2],['
    )
    with pytest.raises(Invalid) as refusal:
        of_file(Path(path))
    told = str(refusal.value)
    assert told.startswith(
        f"{path}:{line}: changes[{change}] of allocations has the key"
    )


def test_a_snapshot_that_deletes_what_is_not_there_is_refused(tmp_path: Path) -> None:
    path, line, _ = edited(tmp_path, r'"allocations",1,null', '"allocations",9000,null')
    with pytest.raises(
        Invalid, match=f":{line}: no row of allocations has the key 9000"
    ):
        of_file(Path(path))


def test_a_snapshot_whose_rows_do_not_fit_names_its_file(tmp_path: Path) -> None:
    path, _, _ = edited(tmp_path, r'"allocations",3,\[3,\d+', '"allocations",3,[3,9000')
    with pytest.raises(Refused, match="refers to the id 9000") as refusal:
        of_file(Path(path)).engine()
    assert f"{path} (a copy)" in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"max_shapes":64', '"max_shapes":-1', "options.max_shapes is -1"),
        ('"choices":16', '"choices":-16', "options.choices is -16"),
        ('"use_placement":"auto"', '"use_placement":"no"', "one of auto, always"),
        ('"lease_skew_s":1.0', '"lease_skew_s":"1"', "options.lease_skew_s is '1'"),
        (r"(?<=},)\d+]$", "0]", "search_budget is 0"),
    ],
)
def test_a_policy_is_such_as_a_configuration_has(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "h0")
        ask(gantt, 1)
    (path,) = (tmp_path / "record").iterdir()
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    (at,) = [n for n, line in enumerate(lines) if line.startswith('["policy"')]
    lines[at], count = re.subn(old, new, lines[at])
    assert count == 1
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    for read in (lambda: played(path), lambda: of_file(path)):
        with pytest.raises(Invalid) as refusal:
            read()
        assert refusal.value.message.startswith(f"{path}:{at + 1}: ")
        assert message in refusal.value.message


def test_of_an_older_record_the_books_can_be_read(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "h0", "h1")
        ask(gantt, 1)
    (path,) = (tmp_path / "record").iterdir()
    text = gzip.decompress(path.read_bytes())
    older = tmp_path / "older.record.gz"
    older.write_bytes(gzip.compress(text.replace(b'"format":2', b'"format":1', 1)))
    assert of_file(older).rows == of_file(path).rows
    with pytest.raises(Invalid, match="in format 1 .* cannot be compared"):
        played(older)
