"""The wheel, outside the repository: `make wheel`.

Builds wheel and sdist, installs the wheel with what is pinned into an empty environment
in a folder of its own, runs the README's example there, and holds a plug-in, right and
wrong, against it with mypy --strict. Not part of `make test`: it needs the network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from tests.test_readme import shown_hosts

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


def run(*words: str | Path, folder: Path, status: int = 0) -> str:
    """What a command prints that ends with ``status``; with nothing of ours set."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
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


def build(source: Path, into: Path, *kinds: str) -> None:
    """Build ``kinds`` ("wheel", "sdist") from the folder ``source``."""
    targets = [word for kind in kinds for word in ("-t", kind)]
    run(sys.executable, "-m", "hatchling", "build", *targets, "-d", into, folder=source)


def only(folder: Path, pattern: str) -> Path:
    """The one file that matches."""
    (found,) = folder.glob(pattern)
    return found


def names(wheel: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def check_builds(folder: Path) -> Path:
    """The wheel; that of the unpacked sdist, outside git, has the same files."""
    build(ROOT, folder / "dist", "wheel", "sdist")
    wheel = only(folder / "dist", "*.whl")
    (folder / "unpacked").mkdir()
    sdist = only(folder / "dist", "*.tar.gz")
    run("tar", "-xzf", sdist, folder=folder / "unpacked")
    source = only(folder / "unpacked", "*")
    strays = STRAYS & {path.name for path in source.iterdir()}
    assert not strays, f"the sdist has {sorted(strays)}"
    build(source, folder / "again", "wheel")
    differing = names(wheel) ^ names(only(folder / "again", "*.whl"))
    assert not differing, f"in only one of the wheels: {sorted(differing)}"
    assert "gantt/py.typed" in names(wheel)
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment that has the wheel, and mypy."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    # An empty cache and isolated builds: as on another machine.
    pip = ("-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install")
    constraints = ROOT / "constraints.txt"
    run(python, *pip, "--constraint", constraints, wheel, "mypy", folder=folder)
    where = run(python, "-c", "import gantt; print(gantt.__file__)", folder=folder)
    assert where.startswith(str(folder)), f"gantt comes from {where}"
    return python


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
    wheel = check_builds(folder)
    print(f"built {wheel.name}, and the same from the sdist", flush=True)
    python = install(wheel, folder)
    print("installed into an empty environment", flush=True)
    code, expected = shown_hosts()
    said = run(python, "-c", code, folder=folder)
    assert said == expected, f"the README's example prints {said}"
    check_types(python, folder)
    run(python, "-c", "import plugin; plugin.check()", folder=folder)
    decided = run(python, "plugin.py", folder=folder)
    assert decided == "small\n", f"the plug-in chose {decided}"
    print(
        "the README's example prints what it says; a typed plug-in passes "
        "mypy --strict and the conformance kit, and decides; "
        f"{len(MISTAKES)} mistakes in it are found"
    )


def main() -> None:
    """Check in a folder that is removed, and tell the time."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        check(Path(name).resolve())
    print(f"== wheel: took {(time.monotonic() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
