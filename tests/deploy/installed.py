"""The installed Debian package in a root, used as its units use it: `make deb`.

    python -m tests.deploy.installed ROOT

There is no systemd in such a root: this reads the unit, runs its commands as its user
with a NOTIFY_SOCKET of its own, asks the service, reloads and stops it. AssertionError
says what is wrong.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.deploy.units import unit
from tests.live import STOP_S, ending, free_port
from tests.notified import Manager

USER = "gantt"
SEARCHED = "/usr/sbin:/usr/bin:/sbin:/bin"
SOCKET = "run/notify-test"


def within(
    root: Path, words: Sequence[str], *, user: str = "root", **environ: str
) -> list[str]:
    """The command line of ``words`` in ``root``, with this environment alone."""
    given = [f"{name}={value}" for name, value in environ.items()]
    who = [f"--userspec={user}:{user if user != 'nobody' else 'nogroup'}"]
    return ["chroot", *who, str(root), "env", "-i", f"PATH={SEARCHED}", *given, *words]


def run(root: Path, line: str, *, user: str = "root", **environ: str) -> str:
    """What a command prints that succeeds."""
    words = within(root, shlex.split(line), user=user, **environ)
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{line}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def fails(root: Path, line: str, *, user: str = "root", **environ: str) -> str:
    """What a command says that does not."""
    words = within(root, shlex.split(line), user=user, **environ)
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode != 0, f"{line}\n{ended.stdout}"
    return ended.stderr


def listen_elsewhere(root: Path) -> str:
    """Change the installed configuration to a free port; the URL."""
    config = root / "etc/gantt/gantt.conf"
    address = f"127.0.0.1:{free_port()}"
    text, changed = re.subn(
        r"^listen = .*$", f"listen = {address}", config.read_text(), flags=re.MULTILINE
    )
    assert changed == 1
    config.write_text(text)
    return f"http://{address}"


def check_service(root: Path) -> None:
    """The unit's commands, from its first start to its stop."""
    service = unit(root / "lib/systemd/system/gantt.service")
    assert service.one("User") == USER
    url = listen_elsewhere(root)
    run(root, service.one("ExecStartPre"), user=USER)
    listener = Manager(root / SOCKET)
    (root / SOCKET).chmod(0o777)
    words = shlex.split(service.one("ExecStart"))
    start = within(root, words, user=USER, NOTIFY_SOCKET=f"/{SOCKET}")
    with ending(subprocess.Popen(start)) as process:
        listener.until("READY=1")
        ask(root, url)
        assert service.one("ExecReload") == "/bin/kill -HUP $MAINPID"
        process.send_signal(signal.SIGHUP)
        listener.until("RELOADING=1")
        listener.until("READY=1")
        process.send_signal(signal.SIGTERM)
        listener.until("STOPPING=1")
        assert process.wait(STOP_S) == 0
    listener.close()
    run(root, "gantt-manage --config-file /etc/gantt/gantt.conf verify", user=USER)


def ask(root: Path, url: str) -> None:
    """Something of the service, with the token that was made, and without it."""
    token, _, _ = (root / "etc/gantt/tokens.yaml").read_text().partition(":")
    admin = {"GANTT_URL": url, "GANTT_TOKEN": token}
    run(root, "gantt provider create new", **admin)
    run(root, "gantt inventory set new VCPU=4", **admin)
    found = json.loads(run(root, "gantt candidates VCPU=1 -o json", **admin))
    assert len(found["candidates"]) == 1, found
    fails(root, "gantt provider list", GANTT_URL=url)


def check_files(root: Path) -> None:
    """Who may read secrets; what else the package brings."""
    for name in ("tokens.yaml", "gantt.conf", "agent.env"):
        fails(root, f"cat /etc/gantt/{name}", user="nobody")
    for name in ("tokens.yaml", "gantt.conf", "scheduler.conf", "feed.conf"):
        run(root, f"cat /etc/gantt/{name}", user=USER)
    run(root, "logrotate --debug /etc/logrotate.d/gantt")
    for program in ("gantt", "gantt-manage", "gantt-status"):
        file = f"/usr/share/bash-completion/completions/{program}"
        said = run(root, f"bash -c '. {file}; complete -p {program}'")
        assert said.endswith(f" {program}\n")
        assert run(root, f"{program} --version").startswith(f"{program}, version ")
    for name in ("gantt-scheduler", "gantt-feed", "gantt-agent"):
        command = unit(root / f"lib/systemd/system/{name}.service").one("ExecStart")
        words = " ".join(shlex.split(command)[:2])
        assert "Usage: gantt" in run(root, f"{words} --help")


def main(root: Path) -> None:
    """Check all of it."""
    check_files(root)
    check_service(root)
    print(
        "the service of the package was ready, answered with its token alone, "
        "reloaded, and stopped"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
