"""The repository speaks of Gantt alone, and keeps no promise for later.

The words looked for are put together here, so that this file does not find itself.
"""

from __future__ import annotations

import re
import subprocess

from tests.tidy.source import ROOT

# Files that hold other people's words as they are.
QUOTED = frozenset({"LICENSE"})

MACHINE_PATHS = re.compile(
    "|".join(
        rf"(?<![\w.])/{folder}/"
        for folder in ("work", "farm", "root", "tmp/w", r"home/\w+", "opt/wheels")
    )
)
REGISTRIES = re.compile(
    "|".join(
        rf"\b{host}\b"
        for host in (
            "py" + r"pi\.",
            "python" + "hosted",
            "--(extra-)?index" + "-url",
            "--find" + "-links",
            "npm" + "js",
            "proxy.go" + "lang",
        )
    )
)
PROMISES = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")


def texts() -> list[tuple[str, str]]:
    """Path and text of every text file that is in the repository or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = []
    for name in sorted(set(listed.stdout.split("\0")) - {""} - QUOTED):
        path = ROOT / name
        if not path.is_file():
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            texts.append((name, content.decode()))
    return texts


def _hits(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert _hits(MACHINE_PATHS) == []


def test_no_file_names_a_package_registry() -> None:
    assert _hits(REGISTRIES) == []


def test_no_file_puts_work_off() -> None:
    assert _hits(PROMISES) == []
