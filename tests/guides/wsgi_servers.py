"""Other WSGI servers, as a guide names them, in an environment of their own.

Neither is a dependency of Gantt or of its tests: pip brings them when a guide is
followed. uWSGI is built from source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Final

from tests.guarded import Missing
from tests.programs import captured
from tests.tidy.source import ROOT

_PIP: Final = (
    "-m",
    "pip",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "install",
    "--quiet",
    "--no-build-isolation",
)
_LINES: Final = 30


class Compiler:
    """What builds uWSGI; tests that need it mark themselves with server("compiler")."""

    name: Final = "compiler"

    @classmethod
    def find(cls) -> Path:
        """Where it is. Raises Missing."""
        found = shutil.which("cc")
        if found is None:
            raise Missing("compiler: no cc here; install build-essential")
        header = Path(sysconfig.get_path("include")) / "Python.h"
        if not header.exists():
            raise Missing(f"compiler: no {header} here; install python3-dev")
        return Path(found)


def installed(folder: Path, requirement: str) -> Path:
    """The folder of programs of a new environment, which has this and all that the
    tests have. Raises AssertionError with what pip said last."""
    venv.create(folder, with_pip=False, symlinks=True)
    place = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", scheme="venv", vars=place))
    ours = sysconfig.get_path("purelib")
    (site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = captured(
        [
            folder / "bin" / "python",
            *_PIP,
            "--constraint",
            ROOT / "constraints.txt",
            requirement,
        ],
        env={**os.environ, "PATH": path},
        stderr=subprocess.STDOUT,
    )
    if ended.returncode:
        said = "\n".join(ended.stdout.strip().splitlines()[-_LINES:])
        raise AssertionError(f"pip cannot install {requirement}:\n{said}")
    return folder / "bin"
