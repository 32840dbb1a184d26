"""deploy/Containerfile, read as an engine reads it; there is none here to build it."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.observe.run_folder import place
from tests import live
from tests.tidy.source import ROOT
from tests.wheel.wheels import built

TEXT = (ROOT / "deploy" / "Containerfile").read_text()


def instructions() -> list[list[tuple[str, str]]]:
    """Of each stage: the words in capitals, and what follows."""
    lines = [one for one in TEXT.splitlines() if one and not one.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stages: list[list[tuple[str, str]]] = []
    for line in joined.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest))
    return stages


BUILD, FINAL = instructions()


def given(stage: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for one, rest in stage if one == word]


def test_every_base_is_pinned_to_a_python_that_is_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for stage in (BUILD, FINAL):
        ((base,)) = given(stage, "FROM")
        found = re.match(r"docker\.io/library/python:(3\.\d+)-slim-(\w+)\b", base)
        assert found is not None, base
        assert f"Programming Language :: Python :: {found[1]}" in project["classifiers"]
    assert len({given(one, "FROM")[0].split()[0] for one in (BUILD, FINAL)}) == 1


def test_the_wheel_and_its_pins_are_all_that_is_copied(tmp_path: Path) -> None:
    (copied,) = given(BUILD, "COPY")
    *sources, target = copied.split()
    assert sources == ["constraints.txt", "dist/gantt_[als]*-py3-none-any.whl"]
    assert given(FINAL, "COPY") == ["--from=build /opt/gantt /opt/gantt"]
    assert "ADD" not in {word for stage in (BUILD, FINAL) for word, _ in stage}
    (install,) = given(BUILD, "RUN")
    assert f"--constraint {target}constraints.txt" in install
    assert "[all]" in install
    for wheel in built(tmp_path).values():
        assert fnmatch.fnmatch(f"dist/{wheel.name}", sources[1])
    assert not fnmatch.fnmatch(
        "dist/gantt_nova_plugin-0.1.0-py3-none-any.whl", sources[1]
    )


def test_nothing_else_is_sent_to_the_engine() -> None:
    lines = (ROOT / ".containerignore").read_text().splitlines()
    assert lines[1] == "*" and all(line.startswith("!") for line in lines[2:])
    (copied,) = given(BUILD, "COPY")
    allowed = [line.removeprefix("!") for line in lines[2:]]
    for source in copied.split()[:-1]:
        name = source.replace("[als]*", "agent-0.1.0")
        assert any(fnmatch.fnmatch(name, one) for one in allowed), source


def test_no_program_is_fetched_past_the_package_index() -> None:
    for command in (*given(BUILD, "RUN"), *given(FINAL, "RUN")):
        words = set(re.findall(r"[\w.-]+", command))
        assert not words & {"curl", "wget", "git", "sh", "bash", "apt-get", "apt"}


def test_it_runs_as_an_ordinary_user() -> None:
    (user,) = given(FINAL, "USER")
    assert user.isdecimal() and int(user) > 0
    (made,) = given(FINAL, "RUN")
    assert f"--uid {user} " in made
    words = [word for word, _ in FINAL]
    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT")


def test_its_workers_meet_where_no_cleaner_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that the image has, is its user's, and is what Gantt looks for."""
    (folder,) = [
        value.partition("=")[2]
        for value in given(FINAL, "ENV")
        if value.startswith("RUNTIME_DIRECTORY=")
    ]
    (made,) = given(FINAL, "RUN")
    assert folder.startswith("/run/")
    assert f"install -d -o gantt -g gantt -m 0750 {folder}" in made
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    assert place() == str(tmp_path)


def test_it_serves_on_the_port_that_it_names() -> None:
    assert given(FINAL, "EXPOSE") == ["8778"]
    (program,) = json.loads(*given(FINAL, "ENTRYPOINT"))
    assert program == "gantt"
    noun, *options = json.loads(*given(FINAL, "CMD"))
    serve = gantt.commands[noun]
    flags = {flag for one in serve.params for flag in one.opts}
    assert {word for word in options if word.startswith("--")} <= flags


def test_its_health_check_tells_a_service_from_none(tmp_path: Path) -> None:
    (check,) = given(FINAL, "HEALTHCHECK")
    program, *words = json.loads(check.partition("CMD ")[2])
    assert program == "python"

    def ask(port: int) -> int:
        here = [word.replace("8778", str(port)) for word in words]
        ended = subprocess.run(
            [sys.executable, *here], capture_output=True, check=False
        )
        return ended.returncode

    with live.served(tmp_path) as service:
        assert ask(int(service.url.rpartition(":")[2])) == 0
    assert ask(live.free_port()) != 0
