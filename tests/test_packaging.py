"""What is installed, built and shipped: the pins, the wheel, the scripts around them.

`make fresh` installs all of it on bare machines; here is what can be told without one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gantt.errors import how_to_install
from scripts import install

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUP = (ROOT / "scripts" / "setup").read_text()
EXACT = re.compile(r"([\w.-]+)==([\w.]+)(?: ; (.+))?")

# The oldest that is promised, Debian 12's, and the newer ones that are tested.
PYTHONS = ("3.11.0", "3.11.2", "3.12.3", "3.13.5")


def environment(python: str, extra: str = "") -> dict[str, str]:
    short = ".".join(python.split(".")[:2])
    return {"python_version": short, "python_full_version": python, "extra": extra}


def pin_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def pins(python: str) -> dict[str, str]:
    """Name -> version of what is pinned for ``python``."""
    found: dict[str, str] = {}
    for line in pin_lines():
        parts = EXACT.fullmatch(line)
        assert parts is not None, line
        name, version, marker = parts.groups()
        if marker is None or Marker(marker).evaluate(environment(python)):
            found[canonicalize_name(name)] = version
    return found


def build_tools() -> list[str]:
    """What scripts/setup installs before anything is built."""
    first = re.search(r"constraints\.txt \\\n    ([a-z ]+)\n", SETUP)
    assert first is not None
    return first[1].split()


def required(python: str) -> Iterator[tuple[str, str]]:
    """All that the package, its extras and the build tools need: name, by what."""
    extras = ",".join(PROJECT["project"]["optional-dependencies"])
    waiting = [(Requirement(f"gantt-scheduler[{extras}]"), "this test")]
    waiting += [(Requirement(tool), "scripts/setup") for tool in build_tools()]
    seen = set()
    while waiting:
        wanted, by = waiting.pop()
        name = canonicalize_name(wanted.name)
        key = (name, frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        yield name, by
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:  # of another Python, or an extra left out here
            continue
        for need in map(Requirement, needs):
            if need.marker is None or any(
                need.marker.evaluate(environment(python, extra))
                for extra in ("", *wanted.extras)
            ):
                waiting.append((need, name))


def test_pins_are_exact_and_sorted() -> None:
    names = [line.partition("==")[0].lower().replace("_", "-") for line in pin_lines()]
    assert all(EXACT.fullmatch(line) for line in pin_lines())
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_is_pinned(python: str) -> None:
    pinned = pins(python)
    loose = {
        f"{name} (for {by})"
        for name, by in required(python)
        if name not in pinned and not name.startswith("gantt-")
    }
    assert not loose


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_installs_on_every_python(python: str) -> None:
    refused = {}
    for name in pins(python):
        try:
            metadata = distribution(name).metadata
        except PackageNotFoundError:
            continue
        (needs,) = metadata.get_all("Requires-Python") or [""]
        if python not in SpecifierSet(needs):
            refused[name] = needs
    assert not refused


def test_installed_versions_equal_the_pins() -> None:
    here = ".".join(map(str, sys.version_info[:3]))
    pinned = pins(here)
    other = {}
    for name, _ in required(here):
        try:
            version = distribution(name).version
        except PackageNotFoundError:
            continue
        if not name.startswith("gantt-") and pinned.get(name) != version:
            other[name] = (version, pinned.get(name))
    assert not other


def test_build_tools_are_installed_first() -> None:
    asked = {Requirement(line).name for line in PROJECT["build-system"]["requires"]}
    assert asked | {"setuptools", "wheel"} <= set(build_tools())
    assert SETUP.index("hatchling setuptools") < SETUP.index("--no-build-isolation")
    assert "pip install" not in SETUP
    assert "--quiet" not in SETUP


def test_the_extra_all_is_all_of_them() -> None:
    """But for what no index has as a wheel: it is built where libvirt is."""
    extras = PROJECT["project"]["optional-dependencies"]
    (every,) = map(Requirement, extras["all"])
    assert every.name == PROJECT["project"]["name"]
    assert every.extras == extras.keys() - {"all", "dev", "libvirt"}


MADE = ("docs", "wheel", "deb", "fresh")


def test_ci_runs_every_check() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    for command in (
        "scripts/lint",
        "make docs",
        "make wheel",
        "make deb",
        "make fresh ARGS=--servers",
    ):
        assert re.search(rf"^ *{re.escape(command)}$", run, re.M), command


def test_ci_leaves_no_test_out() -> None:
    """What its last stage leaves to others, they run: with all servers."""
    run = (ROOT / ".ci" / "run").read_text()
    random, _, rest = run.partition("random_tests() {")[2].partition("\n}\n")
    assert "GANTT_REQUIRE_SERVERS=1" in random
    (left,) = re.findall(r"\nlonger=\(([^)]*)\)", rest)
    assert "not hypothesis" in rest and 'ARGS="-m hypothesis"' in random
    asked = " ".join(re.findall(r'ARGS="([^"]*)"', random)).split()
    assert set(left.split()) <= set(asked)
    named = {one for one in asked if one.startswith("tests/")}
    assert [one for one in named if not (ROOT / one).exists()] == []
    fresh = (ROOT / "scripts" / "fresh").read_text()
    assert "GANTT_GUIDES=1" not in rest
    assert "env GANTT_GUIDES=1 GANTT_REQUIRE_SERVERS=1" in fresh


def test_fresh_build_inherits_no_package_settings() -> None:
    root = (ROOT / "scripts" / "debian-root").read_text()
    assert ". scripts/debian-root\n" in (ROOT / "scripts" / "fresh").read_text()
    carried = re.findall(r"^(?:certificates|network)=\(([^)]*)\)", root, re.MULTILINE)
    assert len(carried) == 2
    for name in " ".join(carried).split():
        assert not re.search("CACHE|FIND|LINKS|TARGET|PREFER|PATH|PYTHON", name), name


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "found 0 packages"),
        ("Collecting a\n  Downloading a.whl\nCollecting b\n", "found 2 packages"),
        (
            "Collecting a\n  Building wheel for ovs (setup.py): started\n",
            "building ovs",
        ),
        ("Installing collected packages: a, b, c\n", "installed 1 of 3 packages"),
    ],
)
def test_pip_progress_is_shown(log: str, said: str) -> None:
    assert install.describe(log, 1) == said


def test_pip_failure_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "pip.log"
    monkeypatch.setattr(install, "LOG", log)
    assert install.main(["--no-index", "no-such-package"]) == 1
    told = capsys.readouterr()
    assert "no-such-package" in told.out
    assert str(log) in told.err


def test_what_a_person_is_told_to_install_is_there() -> None:
    """No index has Gantt: one place says how, and only for extras that exist."""
    extras = PROJECT["project"]["optional-dependencies"]
    asked = set()
    for path in (ROOT / "gantt").rglob("*.py"):
        text = path.read_text()
        assert "install gantt-scheduler" not in text.replace("'", ""), path
        assert "gantt-scheduler[" not in text, path
        asked |= set(re.findall(r"(?:how_to_install|needed_extra)\([\"'](\w+)", text))
    assert asked == {"coordination", "kafka", "openstack", "rpc", "tracing"}
    assert asked <= set(extras)
    said = how_to_install("rpc")
    assert 'pip install "$(ls dist/gantt_scheduler-*.whl)[rpc]"' in said
    assert "pip install -e '.[rpc]'" in said


def test_fresh_finds_what_a_newcomer_is_told_to_install(tmp_path: Path) -> None:
    """scripts/fresh brings what ``make run`` names in a line of scripts/need."""
    ordinary = tmp_path / "id"
    ordinary.write_text("#!/bin/sh\necho 1000\n")
    ordinary.chmod(0o755)
    said = subprocess.run(
        [ROOT / "scripts" / "need", "git", "git", "python3-venv"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert said.returncode == 1
    fresh = (ROOT / "scripts" / "fresh").read_text()
    wanted = re.search(r"line=\$\(sed -n '(.+)' \"\$root\.run\"\)", fresh)
    assert wanted is not None
    told = f"Building .venv ...\n{said.stderr}make: *** [Makefile:21: run] Error 1\n"
    line = subprocess.check_output(["sed", "-n", wanted[1]], input=told, text=True)
    assert line == "apt-get install -y --no-install-recommends git python3-venv\n"
