"""The simulator on a PostgreSQL or MariaDB of its own, from the command line.

Apart from ``tests.simulation``, which is given a database: here a server is started for
it, as for the tests. ``python -m tests.simulation.servers mariadb --seed 7`` replays a
seed; arguments but the first go to ``python -m tests.simulation``.
"""

from __future__ import annotations

import subprocess
import sys

from tests.databases import SERVERS, Databases
from tests.guarded import Missing
from tests.live import ending


def main(kind: str, *arguments: str) -> int:
    """The simulator's exit status; 2 when there is no such server here."""
    if kind not in SERVERS:
        sys.stderr.write(f"{kind} is none of {', '.join(SERVERS)}.\n")
        return 2
    with Databases() as databases:
        try:
            server = databases.server(kind)
        except Missing as missing:
            sys.stderr.write(f"{missing}\n")
            return 2
        server.execute("CREATE DATABASE gantt_sim")
        url = server.url("gantt_sim")
        words = [sys.executable, "-m", "tests.simulation", "--store", url, *arguments]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        with ending(process) as run:
            assert run.stdout is not None
            for line in run.stdout:
                # This server is gone afterwards: what replays a seed starts another.
                told = as_ours(line.replace(f" --store {url}", ""), kind)
                sys.stdout.write(told.replace(url, kind))
                sys.stdout.flush()
        return run.returncode


def as_ours(command: str, kind: str) -> str:
    """What does here what ``python -m tests.simulation`` does on a database."""
    return command.replace("-m tests.simulation", f"-m tests.simulation.servers {kind}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
