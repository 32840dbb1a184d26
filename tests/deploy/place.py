"""Where the commands of guides are typed as root: a Debian root, or a machine of it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.guides.guide import Shown, shown

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Place(NamedTuple):
    """``enter``: the command that runs another one there; ``is_booted``: whether its
    systemd runs."""

    enter: tuple[str, ...] = ()
    is_booted: bool = False

    def attempt(self, text: str, folder: str = "/") -> tuple[int, str]:
        """The status of what is typed, and what it prints. Questions get a yes."""
        ended = subprocess.run(
            [*self.enter, "bash", "-e", "-c", f"cd {folder}\n{text}"],
            input="y\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    def type(self, text: str, folder: str = "/") -> str:
        """What commands print that succeed."""
        status, said = self.attempt(text, folder)
        assert status == 0, f"{text}\n{said}status {status}"
        return said


def place(root: Path, machine: str) -> Place:
    """The machine whose systemd is the process ``machine``; the root, if that is ""."""
    within = ("nsenter", "--target", machine, "--all") if machine else ("chroot", root)
    given = (f"PATH={SEARCHED}", "HOME=/root", "DEBIAN_FRONTEND=noninteractive")
    return Place((*map(str, within), "env", "-i", *given), bool(machine))


def block(name: str, first: str) -> Shown:
    """The block of a guide that begins so."""
    (found,) = (one for one in shown(name) if one.name == first and not one.excerpt)
    return found
