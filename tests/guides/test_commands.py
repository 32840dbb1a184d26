"""The commands of guides that ask a service that runs already, typed in their order.

Each test makes what its guide takes for granted: hosts, instances, a record.
"""

from __future__ import annotations

from pathlib import Path

from gantt.client.remote import RemoteGantt
from gantt.model.hosts import HostStats
from tests.guides.guide import guide, shown
from tests.guides.table import OTHERS
from tests.shown import Terminal, blocks

SERVE = "gantt serve --database memory:// --auth noauth2"
SELECT = "gantt select --flavor vcpus=1,memory_mb=64 --no-alternates"
STATS = HostStats(vcpus=64, memory_mb=262144, local_gb=1000)
# What the shell and the programs say of a command that does not work.
FAULTS = ("Error", "not found", "Usage:", "Traceback", "No such file")


def serve(terminal: Terminal, hosts: int, options: str = "") -> None:
    """A service of ``hosts`` hosts: host-1, …"""
    terminal.type(f"{SERVE} {options}")
    books = RemoteGantt(terminal.environ["GANTT_URL"])
    for number in range(1, hosts + 1):
        books.update_host(f"host-{number}", None, STATS)
    books.close()


def type_all(terminal: Terminal, name: str, **instead: str) -> list[str]:
    """What each command of a guide prints, where it runs; ``instead`` has what stands
    for its examples."""
    said = []
    for block in shown(name):
        by_another = block.name in OTHERS.get(name, {})
        if block.excerpt or by_another or block.language not in {"console", "indented"}:
            continue
        for command in block.commands:
            typed = command
            for example, here in instead.items():
                typed = typed.replace(example, here)
            said.append(terminal.type(typed))
            faults = [one for one in FAULTS if one in said[-1]]
            assert faults == [], f"{typed}\n{said[-1]}"
    return said


def save_files(folder: Path, name: str) -> None:
    for block in blocks(guide(name)):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")


def test_a_host_is_adopted(terminal: Terminal) -> None:
    serve(terminal, 1)
    _, done = type_all(terminal, "adopting-hosts", host1="host-1")
    assert "host-1-new" in done
    assert "host-1-new" in terminal.type("gantt host list -o value -c host")


def test_claims_are_audited(terminal: Terminal) -> None:
    serve(terminal, 1)
    instance = terminal.type(f"{SELECT} -o value -c instance").strip()
    said = type_all(terminal, "audit", host1="host-1", INSTANCE=instance)
    assert "host-1" in said[-1]


def test_hosts_are_disabled_and_enabled(terminal: Terminal) -> None:
    serve(terminal, 2)
    type_all(terminal, "disable-hosts", host1="host-1", host2="host-2")
    state = terminal.type("gantt host list -o value -c host -c state")
    assert state.splitlines() == ["host-1 no service", "host-2 disabled"]


def test_instances_are_spread_over_racks(terminal: Terminal) -> None:
    serve(terminal, 4)
    said = type_all(
        terminal,
        "spread",
        **{f"host{number}": f"host-{number}" for number in range(1, 5)},
    )
    assert "r1" in said[3] and "power" in said[3]
    assert "spread=rack:1:hard" in said[5]
    racks = terminal.type("gantt host domains rack -o value -c domains")
    assert "r1" in racks and "r2" in racks


def test_the_command_line_is_used(terminal: Terminal) -> None:
    serve(terminal, 1)
    marker = terminal.type("gantt provider list -o value -c uuid").strip()
    said = type_all(
        terminal,
        "command-line",
        **{
            "http://gantt:8778": terminal.environ["GANTT_URL"],
            "5cb2d3db-f1d4-4bda-9f0d-d70d817b3aab": marker,
        },
    )
    assert any("gantt_queue_length" in one for one in said)


def test_capacity_is_planned(terminal: Terminal) -> None:
    serve(terminal, 2)
    terminal.type("gantt trait create CUSTOM_SSD")
    type_all(terminal, "plan-capacity")


def test_what_if_is_asked(terminal: Terminal, tmp_path: Path) -> None:
    serve(terminal, 19)
    for name in ("what-if", "replay"):
        save_files(tmp_path, name)
    type_all(terminal, "what-if")


def test_a_trace_is_replayed(terminal: Terminal, tmp_path: Path) -> None:
    save_files(tmp_path, "replay")
    said = type_all(terminal, "replay")
    assert "digest" in said[0]


def test_decisions_are_recorded_and_made_again(
    terminal: Terminal, tmp_path: Path
) -> None:
    save_files(tmp_path, "replay")
    there = {"/var/lib/gantt/record": f"{tmp_path}/record"}
    (recorded,) = (one.text for one in shown("record") if one.language == "ini")
    (tmp_path / "gantt.conf").write_text(
        recorded.replace("/var/lib/gantt/record", f"{tmp_path}/record")
    )
    serve(terminal, 2, "--config-file gantt.conf")
    terminal.type(SELECT)
    terminal.stop()
    said = type_all(terminal, "record", **there)
    assert "1" in said[0]


def test_history_is_read(terminal: Terminal) -> None:
    serve(terminal, 1)
    type_all(terminal, "serving")


def test_a_command_is_launched(terminal: Terminal) -> None:
    books = "--database sqlite:///gantt.db"
    terminal.type(f"gantt-manage {books} db sync")
    terminal.type(f"gantt serve {books} --auth noauth2 --register-machine")
    type_all(terminal, "launching")
    assert "VCPU" in terminal.type("gantt usage show $(hostname)")
