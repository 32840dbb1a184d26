"""An environment of one's own in a fresh root, as guides make it: `make fresh
ARGS=--servers`.

    python -m tests.deploy.own build|serve|package

It is run there, in the working copy, as root. `build` and `package` need the network;
`serve` is for the machine that the root is once it is booted.
"""

from __future__ import annotations

import re
import sys

from gantt import __version__
from tests.deploy import booted
from tests.deploy.place import Place, block
from tests.guides.guide import Shown
from tests.tidy.source import ROOT
from tests.wheel.wheels import FOLDERS

WHEEL = "scripts/build"
UNITS = "useradd --system --home-dir /var/lib/gantt gantt"
PACKAGE = "scripts/deb --build"
NEXT = f"{__version__}.post1"
PROGRAM = "/opt/gantt/bin/gantt"


def typed(shown: Shown) -> str:
    """What all commands of a block print, typed in the working copy."""
    return Place().type(shown.text, str(ROOT))


def build() -> None:
    """The wheel, and an environment that has it."""
    typed(block("installing", WHEEL))
    said = Place().type(f"{PROGRAM} --version")
    assert said == f"gantt, version {__version__}\n", said


def serve() -> None:
    """Its unit under systemd, then the next release."""
    machine = Place(is_booted=True)
    assert "uuid" in typed(block("installing", UNITS))
    booted.check_confinement(machine)
    booted.check_life(machine)
    before = booted.process_of(machine)
    files = [ROOT / "gantt" / "version.py"]
    files += [one / "pyproject.toml" for one in FOLDERS.values()]
    texts = [file.read_text() for file in files]
    for file, text in zip(files, texts, strict=True):
        # The version, and the pins of each wheel to the others.
        pattern = rf'^(__version__ = "|.*"gantt-\w+==){re.escape(__version__)}"'
        file.write_text(re.sub(pattern, rf'\g<1>{NEXT}"', text, flags=re.M))
    try:
        typed(block("upgrade", WHEEL))
    finally:
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
    assert booted.process_of(machine) != before
    assert machine.type(f"{PROGRAM} --version") == f"gantt, version {NEXT}\n"
    assert booted.shows(machine, "SubState") == "running"


def package() -> None:
    """Built and installed."""
    typed(block("installing", PACKAGE))
    assert Place().type("/usr/bin/gantt --version") == f"gantt, version {__version__}\n"


if __name__ == "__main__":
    {"build": build, "serve": serve, "package": package}[sys.argv[1]]()
