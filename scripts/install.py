"""`pip install`, but with few lines: every few seconds, how far it is.

Its own hundreds of lines go to .venv/pip.log, whose end is shown when it fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

LOG = Path(sys.prefix) / "pip.log"
SHOWN_WHEN_IT_FAILS = 40
BUILDING = re.compile(r" +Building \w+ for (\S+) ")


def count_installed() -> int:
    """Packages in this environment."""
    return sum(1 for _ in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))


def describe(log: str, installed: int) -> str:
    """How far a pip is that has written ``log``; ``installed``: since it began."""
    found = 0
    doing = ""
    for line in log.splitlines():
        if line.startswith("Installing collected packages: "):
            return f"installed {installed} of {line.count(',') + 1} packages"
        if line.startswith("Collecting "):
            found += 1
        elif match := BUILDING.match(line):
            doing = f"building {match[1]}"
    return doing or f"found {found} packages"


def tell(say: str, *, on_terminal: bool) -> None:
    """One line: over the last one on a terminal, below it elsewhere."""
    if on_terminal:
        print(f"\r\033[K  {say}", end="", flush=True)
    else:
        print(f"  {say}", flush=True)


def main(arguments: list[str]) -> int:
    """Run pip; its exit status."""
    on_terminal = sys.stdout.isatty()
    before = count_installed()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    with LOG.open("w") as log:
        pip = subprocess.Popen([*command, *arguments], stdout=log, stderr=log)
    while True:
        try:
            status = pip.wait(1 if on_terminal else 10)
            break
        except subprocess.TimeoutExpired:
            say = describe(LOG.read_text(), count_installed() - before)
            tell(say, on_terminal=on_terminal)
        except KeyboardInterrupt:  # the terminal sends it to pip as well
            return pip.wait() or 130
    if on_terminal:
        print("\r\033[K", end="", flush=True)
    if status:
        print(*LOG.read_text().splitlines()[-SHOWN_WHEN_IT_FAILS:], sep="\n")
        print(f"pip failed; all that it said is in {LOG}.", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
