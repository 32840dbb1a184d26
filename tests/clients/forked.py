"""``python -m tests.clients.forked``: the program ``openstack``, loaded once.

A line of JSON, {"words", "environ"}, is a command; it runs in a fork of this process,
which has loaded the program, as that takes longer than all that is asked of it. The
line that answers is {"code", "out", "err"}.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from tempfile import TemporaryFile
from typing import IO, Any

from openstackclient import shell

LONGEST_S = 120


def main() -> None:
    """Carry out commands until there are no more."""
    for line in sys.stdin:
        asked = json.loads(line)
        with TemporaryFile() as out, TemporaryFile() as err:
            code = _run(asked["words"], asked["environ"], out, err)
            told = {"code": code, "out": _text(out), "err": _text(err)}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _run(words: list[str], environ: dict[str, str], out: Any, err: Any) -> int:
    child = os.fork()
    if not child:
        signal.alarm(LONGEST_S)
        os.environ.clear()
        os.environ.update(environ)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["openstack", *words]
        os._exit(_code(words))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _code(words: list[str]) -> int:
    try:
        return int(shell.main(words) or 0)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    main()
