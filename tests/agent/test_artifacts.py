"""What a host holds, found by its agent: Nova's image cache, and a directory."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

import pytest

from gantt.agent.collectors import artifacts
from gantt.agent.collectors.artifacts import ArtifactCollector
from gantt.agent.machine import describe

IMAGE = "3c1d9f2e-8f0e-4c8e-9d3b-7a1f7a3f1a10"
CACHED = sha1(IMAGE.encode()).hexdigest()


def write(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)


def held(**directories: Path) -> dict[str, int]:
    found: dict[str, int] = describe([ArtifactCollector(**directories)]).fields["holds"]
    return found


def test_images_in_novas_cache_are_named_as_there(tmp_path: Path) -> None:
    write(tmp_path / CACHED, 8192)
    write(tmp_path / f"{CACHED}_20", 65536)
    for other in (f"{CACHED}.part", "swap_512", "ephemeral_1_abc", ".lock"):
        write(tmp_path / other, 1)
    assert list(held(image_cache=tmp_path)) == [CACHED]
    assert held(image_cache=tmp_path)[CACHED] >= 65536


def test_files_of_a_directory_are_named_as_artifacts_are(tmp_path: Path) -> None:
    write(tmp_path / "llama-70b", 8192)
    write(tmp_path / ".hidden", 1)
    (tmp_path / "folder").mkdir()
    (tmp_path / "bert").symlink_to(tmp_path / "llama-70b")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = held(directory=tmp_path)
    assert found.keys() == {"llama-70b", "bert"}
    assert found["bert"] == found["llama-70b"] >= 8192


def test_a_sparse_file_counts_what_it_takes(tmp_path: Path) -> None:
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(2**30)
    assert held(directory=tmp_path)["disk"] < 2**20


def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    assert held(directory=tmp_path) == {}


def test_a_directory_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    part = describe([ArtifactCollector(tmp_path / "none", tmp_path)])
    assert "holds" not in part.fields
    assert part.unread == {"holds"}
    assert part.problems[0].path == str(tmp_path / "none")


def test_the_largest_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "MOST", 1)
    write(tmp_path / "small", 1)
    write(tmp_path / "large", 65536)
    assert held(directory=tmp_path).keys() == {"large"}
