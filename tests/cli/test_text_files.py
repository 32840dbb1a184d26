"""Files that a command reads and that are not UTF-8 are named in the refusal."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.cli.manage import manage
from gantt.cli.status import status
from tests.cli.called import called
from tests.replay.recorded import add_hosts, ask, service

BAD = b"a = 1\nb = \xff\n"
FLEET = ("--fleet", "1xvcpus=1,memory_mb=1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a file of each kind that can be read, and bad.X, which cannot."""
    monkeypatch.chdir(tmp_path)
    for ending in ("toml", "conf", "csv", "json"):
        Path(f"bad.{ending}").write_bytes(BAD)
    Path("bad.csv.gz").write_bytes(gzip.compress(BAD))
    Path("bad.csv.xz").write_bytes(lzma.compress(BAD))
    Path("bad.record.gz").write_bytes(gzip.compress(BAD))
    Path("t.csv").write_text("vm,at,cores,mb\na,0,4,1024\n")
    Path("m.toml").write_text(
        '[columns]\nname = "vm"\nat = { column = "at", unit = "s" }\n'
        'vcpus = "cores"\nmemory_mb = "mb"\n'
    )
    return tmp_path


def said(words: str, *more: str) -> str:
    program, _, rest = words.partition(" ")
    command = {"gantt": gantt, "gantt-manage": manage, "gantt-status": status}[program]
    found = called(command, [*rest.split(), *more], status=1)
    assert isinstance(found.exception, SystemExit), found.exception
    return " ".join(found.output.split())


@pytest.mark.parametrize(
    "words",
    [
        "gantt capacity --url memory:// --what-if bad.toml vcpus=1",
        "gantt replay t.csv --mapping bad.toml",
        "gantt replay bad.csv --mapping m.toml",
        "gantt replay bad.csv.gz --mapping m.toml",
        "gantt replay bad.csv.xz --mapping m.toml",
        "gantt replay t.csv --mapping m.toml --what-if bad.toml",
        "gantt replay t.csv --mapping m.toml --config-file bad.conf",
        "gantt replay bad.record.gz",
        "gantt replay compare bad.csv bad.csv",
        "gantt replay compare bad.csv.gz bad.csv",
        "gantt capacity --url bad.record.gz --what-if m.toml vcpus=1",
        "gantt select --url memory:// --spec bad.json",
        "gantt serve --config-file bad.conf",
        "gantt scheduler --config-file bad.conf",
        "gantt bench --show bad.json",
        "gantt-manage --config-file bad.conf db sync",
    ],
)
def test_a_file_that_is_not_utf_8_is_named(words: str) -> None:
    more = FLEET if "--mapping" in words else ()
    name = next(word for word in words.split() if word.startswith("bad."))
    if "--url bad" in words:
        Path("m.toml").write_text("")
    told = said(words, *more)
    assert name in told
    assert "Traceback" not in told


def test_the_line_of_a_configuration_is_named() -> None:
    assert "bad.conf, line 2, is not UTF-8" in said(
        "gantt serve --config-file bad.conf"
    )


@pytest.mark.parametrize(
    "name",
    ["flav_map.txt", "v1.interval_map.txt", "v1.test.txt.xz", "v1.test.cut.txt.xz"],
)
def test_each_file_of_the_azure_trace(folder: Path, name: str) -> None:
    (folder / "azure").mkdir()
    parts = {
        "flav_map.txt": b"1,2 a\n",
        "v1.interval_map.txt": b"0 0\n",
        "v1.test.txt.xz": lzma.compress(b"0 a\n"),
        "v1.test.cut.txt.xz": lzma.compress(b"0 U0\n"),
    }
    for other, text in parts.items():
        (folder / "azure" / other).write_bytes(text)
    for bad, line in ((BAD, 1), (b"\n\xff\n", 1), (b"\xff", 1)):
        text = lzma.compress(bad) if name.endswith("xz") else bad
        (folder / "azure" / name).write_bytes(text)
        assert f"{name}:{line}: " in said("gantt replay azure", *FLEET)


@pytest.mark.parametrize("word", ["bogus", "vcpus=1", "2yvcpus=1"])
def test_a_fleet_that_is_none_tells_what_there_is(word: str) -> None:
    told = said("gantt replay t.csv --mapping m.toml --fleet", word)
    assert f"'{word}' is no fleet in words, and no file" in told
    assert "COUNTxvcpus=N,memory_mb=N,disk_gb=N" in told
    assert "JSON file" in told


def test_a_snapshot_is_read_with_a_what_if(folder: Path) -> None:
    with service(folder) as engine:
        add_hosts(engine, "h0")
        ask(engine, 1)
    (path,) = (folder / "record").iterdir()
    told = said(f"gantt capacity vcpus=1 --url {path}")
    assert "with --what-if FILE; an empty FILE changes nothing" in told
    Path("empty.toml").write_text("")
    words = ["capacity", "vcpus=1,memory_mb=1", "--url", str(path)]
    found = called(gantt, [*words, "--what-if", "empty.toml"])
    assert "+0" in found.output
