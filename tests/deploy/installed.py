"""The Debian package in a root, used as guides and its units say: `make deb`.

    python -m tests.deploy.installed ROOT MACHINE install|use|upgrade

MACHINE is the process of the root's systemd, or "" where none may be booted. This
types what the guides show. It runs the unit's commands as its user, too, with a
NOTIFY_SOCKET of its own, asks the service, reloads and stops it. AssertionError says
what is wrong.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.deploy import booted
from tests.deploy.place import SEARCHED, Place, block, place
from tests.deploy.units import Unit, unit
from tests.live import STOP_S, ending, free_port
from tests.notified import Manager
from tests.programs import captured, printed

USER = "gantt"
SOCKET = "run/notify-test"
# The folder of the package: in dist/ as it was built, then the next one beside it.
FOLDER = "/srv"
INSTALL = "scripts/deb --build"
START = "systemctl enable --now gantt"
UPGRADE = "apt-get install ./gantt_*_amd64.deb"


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
    return printed(words)


def fails(root: Path, line: str, *, user: str = "root", **environ: str) -> str:
    """What a command says that does not."""
    words = within(root, shlex.split(line), user=user, **environ)
    ended = captured(words)
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


@contextlib.contextmanager
def started(
    root: Path, service: Unit
) -> Iterator[tuple[subprocess.Popen[bytes], Manager]]:
    """The process of a unit's commands, which is ready, and what it tells."""
    assert service.one("User") == USER
    run(root, service.one("ExecStartPre"), user=USER)
    listener = Manager(root / SOCKET)
    (root / SOCKET).chmod(0o777)
    words = shlex.split(service.one("ExecStart"))
    start = within(root, words, user=USER, NOTIFY_SOCKET=f"/{SOCKET}")
    with contextlib.closing(listener), ending(subprocess.Popen(start)) as process:
        listener.until("READY=1")
        yield process, listener
    (root / SOCKET).unlink()


def check_commands(root: Path) -> None:
    """The unit's commands without systemd, from a first start to a stop; then all is
    as it was."""
    config = root / "etc/gantt/gantt.conf"
    before = config.read_text()
    url = listen_elsewhere(root)
    without = place(root, "")
    enable, show = block("installing", START).commands
    without.attempt(enable)  # there is nothing that could start it
    assert without.type("systemctl is-enabled gantt") == "enabled\n"
    service = unit(root / "lib/systemd/system/gantt.service")
    with started(root, service) as (process, listener):
        without.type(f"export GANTT_URL={url}\n{show}")
        ask(without, url)
        assert service.one("ExecReload") == "/bin/kill -HUP $MAINPID"
        process.send_signal(signal.SIGHUP)
        listener.until("RELOADING=1")
        listener.until("READY=1")
        process.send_signal(signal.SIGTERM)
        listener.until("STOPPING=1")
        assert process.wait(STOP_S) == 0
    run(root, "gantt-manage --config-file /etc/gantt/gantt.conf verify", user=USER)
    without.type("systemctl disable gantt")
    config.write_text(before)


def ask(where: Place, url: str = "http://127.0.0.1:8778") -> None:
    """Something of the service, with the token that was made, and without it."""
    where.type(f"""
        export GANTT_URL={url} GANTT_TOKEN=$(cut -d: -f1 /etc/gantt/tokens.yaml)
        gantt provider create new
        gantt inventory set new VCPU=4
    """)
    admin = f"GANTT_URL={url} GANTT_TOKEN=$(cut -d: -f1 /etc/gantt/tokens.yaml)"
    found = json.loads(where.type(f"{admin} gantt candidates VCPU=1 -o json"))
    assert len(found["candidates"]) == 1, found
    assert where.attempt(f"GANTT_URL={url} gantt provider list")[0] != 0


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


def check_booted(root: Path, machine: Place) -> None:
    """The unit under systemd, typed as the guide shows it."""
    machine.type("find /var/lib/gantt -mindepth 1 -delete")  # this is the first start
    assert machine.attempt("systemctl is-active gantt")[1] == "inactive\n"
    enable, show = block("installing", START).commands
    machine.type(enable)
    assert "uuid" in machine.type(show)
    booted.check_confinement(machine)
    ask(machine)
    booted.check_agent(machine, root / "etc/gantt/agent.env")
    booted.check_life(machine)


def install(root: Path, where: Place) -> None:
    """With the package in dist/, as the first line of the block leaves it."""
    _, line = block("installing", INSTALL).commands
    where.type(line, FOLDER)


def use(root: Path, where: Place) -> None:
    """Everything between."""
    check_files(root)
    check_commands(root)
    print(
        "the unit's commands were ready, answered with its token alone, reloaded, and "
        "stopped"
    )
    if where.is_booted:
        check_booted(root, where)
        print(
            "systemd started the unit, confined it, reloaded and restarted it, and "
            "again after a crash; the agent reported"
        )
    # What the upgrade must keep.
    config = root / "etc/gantt/gantt.conf"
    config.write_text(config.read_text().replace("#workers = 1", "workers = 1"))


def upgrade(root: Path, where: Place) -> None:
    """To the package in FOLDER."""
    (line,) = block("upgrade", UPGRADE).commands
    before = booted.process_of(where) if where.is_booted else ""
    was = where.type("dpkg-query --show gantt")
    where.type(line, FOLDER)
    assert where.type("dpkg-query --show gantt") != was
    assert "\nworkers = 1\n" in (root / "etc/gantt/gantt.conf").read_text()
    if where.is_booted:
        assert booted.process_of(where) != before
        assert where.attempt("systemctl is-active gantt-agent")[1] == "inactive\n"
        _, show = block("installing", START).commands
        assert "new" in where.type(show)


if __name__ == "__main__":
    root, machine, act = Path(sys.argv[1]), *sys.argv[2:]
    {"install": install, "use": use, "upgrade": upgrade}[act](
        root, place(root, machine)
    )
