"""The wheels of Gantt, as ``scripts/build`` makes them."""

from __future__ import annotations

import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = {
    "gantt-agent": ROOT / "packaging" / "agent",
    "gantt-lab": ROOT / "packaging" / "lab",
    "gantt-scheduler": ROOT,
}


def project_of(name: str) -> dict[str, Any]:
    """What pyproject.toml of a wheel says."""
    return tomllib.loads((FOLDERS[name] / "pyproject.toml").read_text())


def built(folder: Path) -> dict[str, Path]:
    """Builds all into ``folder``: name -> wheel."""
    script = ROOT / "scripts" / "build"
    subprocess.run([script, folder], check=True, capture_output=True)
    found = {}
    for name in FOLDERS:
        (found[name],) = folder.glob(f"{name.replace('-', '_')}-*.whl")
    return found


def files_in(wheel: Path) -> frozenset[str]:
    """The files of the package ``gantt`` in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return frozenset(name for name in names if name.startswith("gantt/"))


def modules_of(name: str) -> frozenset[Path]:
    """The modules that a wheel other than the main one lists."""
    wheel = project_of(name)["tool"]["hatch"]["build"]["targets"]["wheel"]
    listed = [ROOT / one for one in wheel["only-include"]]
    return frozenset(
        path
        for one in listed
        for path in (one.rglob("*.py") if one.is_dir() else [one])
    )
