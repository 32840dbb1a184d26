"""The filter, the weigher and the operation that CONTRIBUTING.md adds work as shown.

What is shown is written into a copy of the repository: its modules, its tests, its
options. The tests run there, and an engine configured as shown decides by both.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gantt.scheduler.options import DEFAULT_FILTERS
from tests.programs import printed
from tests.tidy.source import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
HEADINGS = "Add a host filter", "Add a weigher"
FILE = re.compile(r"`(\w+\.py)` in `([\w/]+/)`:\n\n```python\n(.*?)^```$", re.S | re.M)
ADDED = re.compile(
    r"end of `(\w+)` in\s`([\w/.]+)`:\n\n```python\n((?:from [^\n]+\n)*)\n*(.*?)^```$",
    re.S | re.M,
)
OPTIONS = re.compile(r"^```ini\n(.*?)^```$", re.S | re.M)
FACTOR = re.compile(r'^```python\n( +"\w+": [\d.]+,\n)```$', re.M)
FACTORS = "DEFAULT_MULTIPLIERS: dict[str, float] = {\n"

# Three hosts: one is balanced and has few neighbours, one is not balanced, one is full
# of neighbours.
DECIDE = """
import json, sys
import gantt
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest

HOSTS = {"balanced": (4, 512, 2), "unbalanced": (0, 512, 2), "crowded": (4, 512, 3)}

with open_gantt("memory://", load([sys.argv[1]]).engine) as engine:
    for name, (vcpus_used, free_ram_mb, instances) in HOSTS.items():
        stats = HostStats(
            vcpus=8, vcpus_used=vcpus_used, memory_mb=1024, free_ram_mb=free_ram_mb,
            memory_mb_used=1024 - free_ram_mb, local_gb=100, local_gb_used=0,
            free_disk_gb=100, stats={"num_instances": str(instances)},
        )
        engine.update_host(name, name, stats)
    spec = RequestSpec(
        flavor=Flavor(vcpus=1, memory_mb=64), scheduler_hints={"max_neighbours": ("2",)}
    )
    found = engine.decide(ScheduleRequest(spec))
print(json.dumps({
    "package": gantt.__file__,
    "steps": {one.name: [one.before, one.after] for one in found.steps},
    "scores": {one.host: one.parts["BalanceWeigher"] for one in found.scores},
}))
"""


def section(heading: str) -> str:
    """The text below ``heading``, up to the next one."""
    _, _, rest = CONTRIBUTING.partition(f"\n### {heading}\n")
    assert rest, f"CONTRIBUTING.md has no heading {heading!r}"
    return rest.partition("\n#")[0]


def files(text: str) -> dict[str, str]:
    """New files that are shown, by their path."""
    return {folder + name: shown for name, folder, shown in FILE.findall(text)}


SHOWN = "\n".join(section(heading) for heading in HEADINGS)
FILES = files(SHOWN)
OPERATION = section("Add an operation")


def named(node: ast.stmt, name: str) -> bool:
    """Whether it is the class, or the assignment to the name."""
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return isinstance(node, ast.ClassDef) and node.name == name


class Copy:
    """A copy of the repository with what is shown, and an interpreter that uses it."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        caches = shutil.ignore_patterns("__pycache__", "transcripts")
        for folder in ("gantt", "tests"):
            shutil.copytree(ROOT / folder, root / folder, ignore=caches)
        shutil.copy(ROOT / "pyproject.toml", root)
        for path, text in files.items():
            assert not (root / path).exists(), f"{path} exists: it is no example"
            (root / path).write_text(text)

    def add(self, name: str, path: str, imports: str, added: str) -> None:
        """Write what is ``added`` at the end of the class or tuple ``name``, and what
        that imports at the top of its module."""
        text = (self.root / path).read_text()
        lines = text.splitlines()
        (end,) = (
            one.end_lineno or 0 for one in ast.parse(text).body if named(one, name)
        )
        end -= lines[end - 1] == ")"
        lines[end:end] = ["", *added.splitlines()]
        start = lines.index("from __future__ import annotations") + 1
        lines[start:start] = imports.splitlines()
        (self.root / path).write_text("\n".join(lines) + "\n")

    def run(self, *arguments: str) -> str:
        """What Python with these arguments prints."""
        return printed(
            [sys.executable, *arguments],
            cwd=self.root,
            env={"PYTHONPATH": str(self.root), "PYTHONHASHSEED": "0"},
        )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"), FILES)


def test_a_filter_and_a_weigher_are_shown_with_their_tests() -> None:
    assert len(FILES) == 4
    assert {Path(path).name.startswith("test_") for path in FILES} == {True, False}
    for path in FILES:
        assert (ROOT / path).parent.is_dir()


def test_the_tests_that_are_shown_pass(copy: Copy) -> None:
    tests = [path for path in FILES if path.startswith("tests/")]
    said = copy.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    shown = sum(text.count("def test_") for text in FILES.values())
    passed = re.search(r"(\d+) passed", said)
    assert passed and int(passed[1]) >= shown
    assert "skipped" not in said


def test_what_is_shown_has_our_style(copy: Copy) -> None:
    copy.run("-m", "ruff", "check", "--no-cache", *FILES)
    copy.run("-m", "ruff", "format", "--no-cache", "--check", *FILES)


def test_an_engine_configured_as_shown_decides_by_both(copy: Copy) -> None:
    (factor,) = FACTOR.findall(SHOWN)
    options = copy.root / "gantt" / "scheduler" / "options.py"
    text = options.read_text()
    assert text.count(FACTORS) == 1
    options.write_text(text.replace(FACTORS, FACTORS + factor))
    blocks = OPTIONS.findall(SHOWN)
    assert len(blocks) == len(HEADINGS)
    configuration = copy.root / "gantt.conf"
    lines = [line for one in blocks for line in one.splitlines()]
    configuration.write_text("\n".join(dict.fromkeys(lines)))

    found: dict[str, Any] = json.loads(copy.run("-c", DECIDE, str(configuration)))

    assert found["package"].startswith(str(copy.root))
    assert found["steps"]["MaxNeighboursFilter"] == [3, 2]
    assert set(DEFAULT_FILTERS) < set(found["steps"])  # the example switches none off
    assert found["scores"] == {"balanced": [0.0, 2.0], "unbalanced": [-0.5, 0.0]}


# What must know every operation.
KNOWING = (
    "tests/api/native/test_openapi.py",
    "tests/api/test_access_policy.py",
    "tests/api/test_routes.py",
    "tests/attacks/test_operations.py::test_every_operation_is_attacked",
)


def test_an_operation_is_added_as_shown_in_six_files(tmp_path: Path) -> None:
    added = ADDED.findall(OPERATION)
    new = files(OPERATION)
    touched = {*new, *(one[1] for one in added), "releasenotes/"}
    assert len(touched) == 6
    copy = Copy(tmp_path, new)
    for one in added:
        copy.add(*one)

    (test,) = (path for path in new if path.startswith("tests/"))
    said = copy.run("-m", "pytest", "-q", "-p", "no:cacheprovider", test, *KNOWING)
    assert "passed" in said and "skipped" not in said

    written = sorted(path for path in touched if path.endswith(".py"))
    copy.run("-m", "ruff", "check", "-q", "--no-cache", "--fix", *written)
    copy.run("-m", "ruff", "format", "-q", "--no-cache", "--check", *new)
