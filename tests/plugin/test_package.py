"""The distribution: old Pythons, the standard library alone, no Gantt beside it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import gantt_nova_plugin
import pytest

import gantt
from tests.plugin.fake_gantt import FakeGantt
from tests.programs import printed
from tests.tidy.source import ROOT

FOLDER = ROOT / "nova-plugin"
PACKAGE = FOLDER / "gantt_nova_plugin"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())
MODULES = sorted(PACKAGE.glob("*.py"))

# What is imported besides the standard library, and where.
SERVICES = {
    "cinder": {"cinder"},
    "manila": {"manila"},
    "nova": {"nova"},
    "options": {"oslo_config"},
}

ASK_WITHOUT_SITE_PACKAGES = """
import sys
assert not [path for path in sys.path if "site-packages" in path]
from gantt_nova_plugin import wire
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.settings import Settings
from gantt_nova_plugin.wire import Candidate, Question

settings = Settings(sys.argv[1], mode="advise", timeout=1.0)
hosts = (Candidate("a", "n"), Candidate("b", "n"))
advisor = Advisor(wire.NATIVE, lambda: settings)
question = Question("weigh", settings.mode, dict, hosts)
answer = advisor.safely(lambda: advisor.ask(settings, object(), question), None)
print([host for host, _ in answer.order])
"""

LOAD_WITHOUT_GANTT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("gantt", "numpy", "msgspec"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocker())
import nova.conf
from nova.scheduler import filters, weights
nova.conf.CONF([], project="nova", default_config_files=[])
found = [
    *filters.HostFilterHandler().get_matching_classes(
        ["gantt_nova_plugin.nova.GanttFilter"]),
    *weights.HostWeightHandler().get_matching_classes(
        ["gantt_nova_plugin.nova.GanttWeigher"]),
]
print([one.__name__ for one in found])
"""


def run(code: str, *arguments: str, options: tuple[str, ...] = ()) -> str:
    """What a process prints that has the plug-in in its path."""
    path = f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n"
    return printed(
        [sys.executable, "-I", *options, "-c", path + code, *arguments]
    ).strip()


def imported(module: Path) -> set[str]:
    """The top-level packages that it imports."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_module_is_of_an_old_python_and_the_standard_library(module: Path) -> None:
    text = module.read_text()
    ast.parse(text, feature_version=(3, 9))
    foreign = imported(module) - sys.stdlib_module_names - {"gantt_nova_plugin"}
    # For type checkers alone.
    assert foreign - {"_typeshed"} == SERVICES.get(module.stem, set())
    if module.stem != "__init__":
        assert "from __future__ import annotations" in text


def test_distribution_needs_nothing_and_an_old_python() -> None:
    project = PROJECT["project"]
    assert project["dependencies"] == []
    assert project["requires-python"] == ">=3.9"
    assert gantt_nova_plugin.__version__ == gantt.__version__


def test_entry_points_name_what_there_is() -> None:
    points = PROJECT["project"]["entry-points"]
    assert set(points) == {
        "cinder.scheduler.filters",
        "cinder.scheduler.weights",
        "manila.scheduler.filters",
        "manila.scheduler.weighers",
    }
    for group in points.values():
        for name, target in group.items():
            module, _, found = target.partition(":")
            path = FOLDER / f"{module.replace('.', '/')}.py"
            classes = {
                node.name
                for node in ast.parse(path.read_text()).body
                if isinstance(node, ast.ClassDef)
            }
            assert found == name
            assert name in classes


def test_core_works_without_any_package(gantt: FakeGantt) -> None:
    assert run(ASK_WITHOUT_SITE_PACKAGES, gantt.url, options=("-S",)) == "['b', 'a']"


def test_nova_loads_it_where_gantt_cannot_be_imported() -> None:
    assert run(LOAD_WITHOUT_GANTT) == "['GanttFilter', 'GanttWeigher']"


def test_wheel_is_complete_and_typed(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=FOLDER,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    assert {f"gantt_nova_plugin/{module.name}" for module in MODULES} <= shipped
    assert "gantt_nova_plugin/py.typed" in shipped
    assert not [name for name in shipped if name.startswith("gantt/")]
    assert any(name.endswith("/licenses/LICENSE") for name in shipped)
