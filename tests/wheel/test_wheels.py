"""Three wheels share the package ``gantt``: which file is whose, and what runs where
only the agent's is installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gantt import __version__
from tests import inprocess
from tests.wheel.wheels import FOLDERS, ROOT, built, files_in, project_of

# What gantt-agent needs, by the names of modules; ``libraries`` compares.
LIBRARIES = {
    "click": ("click",),
    "msgspec": ("msgspec",),
    "prometheus-client": ("prometheus_client",),
    "PyYAML": ("yaml", "_yaml"),
    "rich": ("rich", "pygments", "markdown_it", "mdurl"),
}
RESIDENT_MIB = 30
PROGRAM = """
import sys

sys.path[:0] = sys.argv.pop(1).split(":")
program = sys.argv[1]
sys.argv[:2] = [program]
from gantt.cli import start

try:
    getattr(start, program)()
finally:
    with open("/proc/self/status") as status:
        (resident,) = (line for line in status if line.startswith("VmRSS"))
    print(chr(10), resident.split()[1], *sys.modules, file=sys.stderr)
"""
IMPORTS = """
import importlib, sys

sys.path[:0] = sys.argv[1].split(":")
for name in sys.argv[2:]:
    importlib.import_module(name)
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def alone(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent's wheel, and only the libraries that it needs."""
    folder = tmp_path_factory.mktemp("alone")
    with zipfile.ZipFile(wheels["gantt-agent"]) as archive:
        archive.extractall(folder)
    site = Path(sysconfig.get_path("purelib"))
    for names in LIBRARIES.values():
        for name in names:
            (folder / name).symlink_to(site / name)
    return folder


def run(alone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of ``gantt.cli.start``, without what is installed here."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(alone), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_file_of_the_package_is_in_one_wheel(wheels: dict[str, Path]) -> None:
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "gantt"],
        cwd=ROOT,
        text=True,
    )
    files = sorted(name for wheel in wheels.values() for name in files_in(wheel))
    assert files == sorted(name for name in listed.split() if (ROOT / name).exists())


def test_the_agents_wheel_has_what_others_build_on(wheels: dict[str, Path]) -> None:
    found = files_in(wheels["gantt-agent"])
    assert {f"gantt/{one}" for one in ("__init__.py", "errors.py", "py.typed")} <= found
    rooms = {name.split("/")[1] for name in found if name.count("/") > 1}
    assert rooms >= {"model", "agent", "launch", "client"}
    assert not rooms & {"engine", "scheduler", "placement", "state", "store", "conf"}


def test_wheels_require_each_other_in_the_same_version() -> None:
    pin = f"=={__version__}"
    main = project_of("gantt-scheduler")["project"]
    assert f"gantt-agent{pin}" in main["dependencies"]
    assert main["optional-dependencies"]["lab"] == [f"gantt-lab{pin}"]
    lab = project_of("gantt-lab")["project"]
    assert lab["dependencies"] == [f"gantt-scheduler{pin}"]
    for name in FOLDERS:
        path = FOLDERS[name] / project_of(name)["tool"]["hatch"]["version"]["path"]
        assert path.resolve() == ROOT / "gantt" / "version.py"


def test_what_the_agent_needs_the_scheduler_needs_in_the_same_versions() -> None:
    agent = project_of("gantt-agent")["project"]
    main = project_of("gantt-scheduler")["project"]
    assert {Requirement(one).name for one in agent["dependencies"]} == LIBRARIES.keys()
    assert set(agent["dependencies"]) <= set(main["dependencies"])
    for name, wanted in agent["optional-dependencies"].items():
        if name == "all":
            (every,) = map(Requirement, wanted)
            assert every.name == agent["name"]
            assert every.extras == agent["optional-dependencies"].keys() - {
                "all",
                "libvirt",
            }
        else:
            assert set(wanted) <= set(main["optional-dependencies"][name]), name


def test_every_module_of_the_agents_wheel_is_imported_without_the_others(
    wheels: dict[str, Path], alone: Path
) -> None:
    files = files_in(wheels["gantt-agent"])
    names = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in files
        if name.endswith(".py")
    ]
    # Beside it all libraries of this environment, which extras may bring.
    path = f"{alone}:{sysconfig.get_path('purelib')}"
    said = subprocess.check_output(
        [sys.executable, "-I", "-S", "-c", IMPORTS, path, *names], text=True
    )
    loaded = {name.partition(".")[0] for name in said.split()}
    assert "confluent_kafka" in loaded
    assert loaded.isdisjoint({"numpy", "sqlalchemy", "oslo_config"})


def test_an_agent_shows_its_machine_in_30_mib(alone: Path) -> None:
    words = ("agent", "--once", "--show", "--workloads", "none")
    run(alone, *words)  # compiles
    ended = run(alone, *words)
    assert ended.returncode == 0, ended.stderr
    assert '"report":' in ended.stdout
    resident, *modules = ended.stderr.splitlines()[-1].split()
    found = {name for name in modules if name.startswith("gantt.")}
    assert "gantt.agent.loop" in found
    assert len(found) <= 121 and len(modules) <= 325, (len(found), len(modules))
    assert int(resident) <= RESIDENT_MIB * 1024


def test_a_host_reports_and_launches_with_the_agents_wheel_alone(
    alone: Path, tmp_path: Path
) -> None:
    with inprocess.service(tmp_path) as url:
        books = ("--url", url)
        reported = run(alone, "agent", "--once", "--workloads", "none", *books)
        assert reported.returncode == 0, reported.stderr
        size = "vcpus=1,memory_mb=1"
        done = run(alone, "launch", "--flavor", size, *books, "--", "true")
        assert done.returncode == 0, done.stderr
        assert "Launched on" in done.stderr
        refused = run(alone, "launch", "--flavor", "vcpus=100000", *books, "--", "true")
        assert refused.returncode == 1
        assert "removed_alone" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--url", "memory://"),
        ("--config-file", "/etc/gantt/agent.conf"),
    ],
)
def test_what_is_in_the_other_wheel_is_refused_by_its_name(
    alone: Path, words: tuple[str, ...]
) -> None:
    ended = run(alone, "agent", "--once", *words)
    assert ended.returncode == 1
    (line,) = (one for one in ended.stderr.splitlines() if one.startswith("Error: "))
    assert words[1] in line
    assert "needs gantt-scheduler, which is not installed: pip install" in line


def test_an_extra_of_the_agent_is_told_for_its_own_wheel(alone: Path) -> None:
    ended = run(alone, "agent", "--once", "--stream", "127.0.0.1:1")
    assert ended.returncode == 1
    assert 'pip install "$(ls dist/gantt_agent-*.whl)[kafka]"' in ended.stderr


def test_without_the_lab_its_commands_name_its_wheel(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('cli.replay_packing', 'replay.traces'):\n"
        "    sys.modules[f'gantt.{name}'] = None\n"
        "from gantt.cli.main import main\n"
        "main()"
    )
    for words in (("packing", "--policy", "room"), ("run", str(tmp_path))):
        ended = subprocess.run(
            [sys.executable, "-c", code, "replay", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 1
        assert "needs gantt-lab, which is not installed: pip install" in ended.stderr
        assert "dist/gantt_lab-*.whl" in ended.stderr
