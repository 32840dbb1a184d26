"""A unit of Gantt under the systemd of a booted root."""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.deploy.place import Place

WAIT_S = 60.0
# The users that systemd makes while a unit runs.
DYNAMIC = range(61184, 65520)


def shows(place: Place, name: str, unit: str = "gantt") -> str:
    """A property of the unit, as systemd tells it."""
    return place.type(f"systemctl show --property {name} --value {unit}").strip()


def process_of(place: Place, unit: str = "gantt") -> str:
    """The number of its process, which runs."""
    place.type(f"systemctl is-active {unit}")
    return shows(place, "MainPID", unit)


def until_another(place: Place, process: str) -> str:
    """The process that follows ``process``, once it is ready."""
    give_up = time.monotonic() + WAIT_S
    while True:
        # Asked at once: a process that has just died may be 0 of a unit still active.
        said = place.type("systemctl show --property ActiveState,MainPID gantt")
        state = dict(line.split("=", 1) for line in said.splitlines())
        if state["ActiveState"] == "active" and state["MainPID"] not in ("0", process):
            return state["MainPID"]
        assert time.monotonic() < give_up, place.attempt("systemctl status gantt")[1]
        time.sleep(0.2)


def check_confinement(place: Place) -> None:
    """What the unit takes away is not there for the process that serves."""
    process = process_of(place)
    status = place.type(f"cat /proc/{process}/status")
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"):
        assert f"{line}\n" in status, status
    number = place.type("id -u gantt").strip()
    assert re.search(rf"^Uid:\t{number}\t{number}\t", status, re.MULTILINE), status
    text = place.type(f"cat /proc/{process}/mounts")
    mounts = {
        of: options for _, of, _, options, *_ in map(str.split, text.split("\n")[:-1])
    }
    for folder, option in (
        ("/", "ro"),
        ("/var/lib/gantt", "rw"),
        ("/proc", "hidepid=invisible"),
        ("/proc", "subset=pid"),
        ("/sys/fs/cgroup", "ro"),
        ("/home", "ro"),
    ):
        assert option in mounts[folder].split(","), f"{folder}\n{text}"
    assert "/tmp" in mounts and "/dev" in mounts, text
    users = place.type(f"cat /proc/{process}/uid_map").split()
    assert users[:3] != ["0", "0", "4294967295"], users


def check_life(place: Place) -> None:
    """A reload keeps the process, a restart does not, and a crash is mended."""
    first = process_of(place)
    place.type(
        "systemctl reload gantt || { journalctl --unit gantt --no-pager; false; }"
    )
    assert process_of(place) == first
    place.type("systemctl restart gantt")
    second = process_of(place)
    assert second != first
    place.type("systemctl kill --kill-who=main --signal=KILL gantt")
    until_another(place, second)
    restarts = shows(place, "NRestarts")
    assert restarts == "1", f"{restarts}\n{place.attempt('systemctl status gantt')[1]}"
    place.type("systemctl status gantt")
    said = place.type("journalctl --unit gantt --no-pager")
    assert "Traceback" not in said, said


def check_agent(place: Place, file: Path) -> None:
    """The agent reports the machine, as a user that exists only meanwhile."""
    before = file.read_text()
    token = place.type("cut -d: -f1 /etc/gantt/tokens.yaml").strip()
    file.write_text(f"GANTT_URL=http://127.0.0.1:8778\nGANTT_TOKEN={token}\n")
    place.type("systemctl start gantt-agent")
    process = process_of(place, "gantt-agent")
    status = place.type(f"cat /proc/{process}/status")
    (number,) = re.findall(r"^Uid:\t(\d+)\t", status, re.MULTILINE)
    assert int(number) in DYNAMIC, status
    name = place.type("hostname").strip()
    listed = place.type(f"GANTT_TOKEN={token} gantt host list -o value -c host")
    assert name in listed.split(), listed
    place.type("systemctl stop gantt-agent")
    assert shows(place, "Result", "gantt-agent") == "success"
    file.write_text(before)
