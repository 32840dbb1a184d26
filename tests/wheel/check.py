"""The wheels, outside the repository: `make wheel`.

Builds wheels and sdists where there is no git, installs all with all extras, as pinned,
into an empty environment in a folder of its own, serves there, runs the tutorial's
example, and holds a plug-in, right and wrong, against it with mypy --strict. Then it
removes each of two wheels from under the other. Not part of `make test`: it needs the
network.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path
from typing import Any

from tests.shown import document, programs
from tests.wheel.wheels import FOLDERS

ROOT = Path(__file__).parents[2]
PLUGIN = Path(__file__).with_name("plugin.py")

# What is in a working copy, and not in an sdist.
STRAYS = frozenset({".venv", ".ci", ".git", "var", "dist"})

# What a plug-in's author may get wrong, and what mypy must say about it.
MISTAKES = (
    ("request.spec.num_instances", "request.spec.nun_instances", "attr-defined"),
    ('reads=("num_instances",)', 'reads="num_instances"', "arg-type"),
    ("hosts.free_ram_mb", "hosts.free_ram", "attr-defined"),
    ("Hosts, request: Request) -> Bools:", "Hosts) -> Bools:", "override"),
    ("gantt.Flavor(vcpus=1", "gantt.Flavor(vcpu=1", "call-arg"),
)


def run(*words: str | Path, folder: Path, status: int = 0, programs: str = "") -> str:
    """What a command prints that ends with ``status``; with nothing of ours set.
    ``programs``: PATH; default: as it is."""
    environ = bare(programs)
    ran = subprocess.run(
        words,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode != status:
        sys.exit(f"{' '.join(map(str, words))}\n{ran.stdout}status {ran.returncode}")
    return ran.stdout


def bare(programs: str = "") -> dict[str, str]:
    """The environment without what is Python's or ours."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return {**found, "PATH": programs or found["PATH"]}


def build(source: Path, into: Path, *kinds: str) -> None:
    """Build ``kinds`` ("wheel", "sdist") from the folder ``source``."""
    targets = [word for kind in kinds for word in ("-t", kind)]
    words: list[str | Path] = [sys.executable, "-m", "hatchling", "build"]
    words += [*targets, "-d", into]
    run(*words, folder=source, programs="/nonexistent")


def only(folder: Path, pattern: str) -> Path:
    """The one file that matches."""
    (found,) = folder.glob(pattern)
    return found


def names(wheel: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def check_builds(folder: Path) -> dict[str, Path]:
    """The wheels; those of the unpacked sdists, outside git, have the same files."""
    found = {}
    for name, source in FOLDERS.items():
        build(source, folder / "dist", "wheel", "sdist")
        start = name.replace("-", "_")
        found[name] = only(folder / "dist", f"{start}-*.whl")
        unpacked = folder / "unpacked" / name
        unpacked.mkdir(parents=True)
        sdist = only(folder / "dist", f"{start}-*.tar.gz")
        run("tar", "-xzf", sdist, folder=unpacked)
        (inside,) = unpacked.iterdir()
        strays = STRAYS & {path.name for path in inside.iterdir()}
        assert not strays, f"the sdist has {sorted(strays)}"
        build(inside, folder / "again", "wheel")
        again = only(folder / "again", f"{start}-*.whl")
        differing = names(found[name]) ^ names(again)
        assert not differing, f"in only one of the wheels: {sorted(differing)}"
    assert "gantt/py.typed" in names(found["gantt-agent"])
    return found


def install(wheels: dict[str, Path], folder: Path) -> Path:
    """The Python of a new environment that has the wheels, all extras, and mypy."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    # An empty cache and isolated builds: as on another machine.
    pip = ("-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install")
    constraints = ROOT / "constraints.txt"
    wanted: list[str | Path] = [*wheels.values()]
    wanted += [f"{wheels['gantt-scheduler']}[all]", "mypy"]
    run(python, *pip, "--constraint", constraints, *wanted, folder=folder)
    run(python, "-m", "pip", "check", folder=folder)
    where = run(python, "-c", "import gantt; print(gantt.__file__)", folder=folder)
    assert where.startswith(str(folder)), f"gantt comes from {where}"
    return python


def check_sdist(folder: Path, python: Path) -> None:
    """pip makes the same version of it, without git."""
    target = folder / "from-sdist"
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--no-deps")
    sdist = only(folder / "dist", "gantt_scheduler-*.tar.gz")
    words: list[str | Path] = [python, *pip, "--target", target, sdist]
    run(*words, folder=folder, programs="/nonexistent")
    name = only(target, "gantt_scheduler-*.dist-info").name
    assert sdist.name == f"{name.removesuffix('.dist-info')}.tar.gz"


def check_removal(folder: Path, python: Path, wheels: dict[str, Path]) -> None:
    """Without the agent's wheel what is left does not start, and pip says why; without
    the others the agent's goes on."""
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    scripts = folder / "venv" / "bin"
    run(*pip, "uninstall", "--yes", "gantt-agent", folder=folder)
    said = run(*pip, "check", folder=folder, status=1)
    assert "requires gantt-agent, which is not installed" in said, said
    run(scripts / "gantt", "--version", folder=folder, status=1)
    run(*pip, "install", "--no-deps", wheels["gantt-agent"], folder=folder)
    assert "gantt, version" in run(scripts / "gantt", "--version", folder=folder)
    others = ("gantt-lab", "gantt-scheduler")
    run(*pip, "uninstall", "--yes", *others, folder=folder)
    run(*pip, "check", folder=folder)
    agent = scripts / "gantt-agent"
    shown = run(agent, "--once", "--show", "--workloads", "none", folder=folder)
    assert '"report":' in shown, shown
    assert "gantt-launch, version" in run(
        scripts / "gantt-launch", "--version", folder=folder
    )
    left = sorted(path.name for path in scripts.glob("gantt*"))
    assert left == ["gantt-agent", "gantt-launch"], left


def check_service(folder: Path) -> None:
    """The installed programs make a database, serve it and answer."""
    scripts = folder / "venv" / "bin"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    database = ("--database", f"sqlite:///{folder}/gantt.db")
    run(scripts / "gantt-manage", *database, "db", "sync", folder=folder)
    serve: list[str | Path] = [
        scripts / "gantt",
        "serve",
        *database,
        "--listen",
        listen,
    ]
    with subprocess.Popen(serve, cwd=folder, env=bare("/nonexistent")) as service:
        try:
            found = answer(f"http://{listen}/", service)
        finally:
            service.terminate()
    assert found["versions"][0]["max_version"] == "1.39", found
    assert service.returncode == 0


def answer(url: str, service: subprocess.Popen[bytes]) -> Any:
    """The JSON at ``url``, once ``service`` serves."""
    deadline = time.monotonic() + 60
    while service.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return json.load(response)
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing serves at {url}: status {service.poll()}")


def check_types(python: Path, folder: Path) -> None:
    """The plug-in passes mypy --strict, and with each mistake in it does not."""
    right = PLUGIN.read_text(encoding="utf-8")
    (folder / "plugin.py").write_text(right, encoding="utf-8")
    mypy = (python, "-m", "mypy", "--strict", "--cache-dir", folder / "mypy")
    run(*mypy, "plugin.py", folder=folder)
    wrong = [f"wrong_{number}.py" for number in range(len(MISTAKES))]
    for name, (good, bad, _) in zip(wrong, MISTAKES, strict=True):
        assert good in right, good
        (folder / name).write_text(right.replace(good, bad, 1), encoding="utf-8")
    said = run(*mypy, *wrong, folder=folder, status=1).splitlines()
    for name, (_, bad, code) in zip(wrong, MISTAKES, strict=True):
        found = [line for line in said if line.startswith(name) and f"[{code}]" in line]
        assert found, f"mypy says nothing about {bad}: {said}"


def check(folder: Path) -> None:
    """All of it; AssertionError or SystemExit says what is wrong."""
    wheels = check_builds(folder)
    built = ", ".join(one.name for one in wheels.values())
    print(f"built {built}, and the same from their sdists", flush=True)
    python = install(wheels, folder)
    print("installed with all extras into an empty environment", flush=True)
    check_sdist(folder, python)
    check_service(folder)
    print("the sdist installs as well; the service answers", flush=True)
    shown = next(programs(document("docs/tutorial/from-python.md")))
    said = run(python, "-c", shown.text, folder=folder)
    assert said == shown.printed, f"the tutorial's example prints {said}"
    check_types(python, folder)
    run(python, "-c", "import plugin; plugin.check()", folder=folder)
    decided = run(python, "plugin.py", folder=folder)
    assert decided == "small\n", f"the plug-in chose {decided}"
    print(
        "the tutorial's example prints what it says; a typed plug-in passes "
        "mypy --strict and the conformance kit, and decides; "
        f"{len(MISTAKES)} mistakes in it are found"
    )
    check_removal(folder, python, wheels)
    print("each of gantt-agent and gantt-scheduler was removed from under the other")


def main() -> None:
    """Check in a folder that is removed, and tell the time."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        check(Path(name).resolve())
    print(f"== wheels: took {(time.monotonic() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
