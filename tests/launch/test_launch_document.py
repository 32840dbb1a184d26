"""docs/how-to/launching.md shows what happens, and ``make run`` launches as it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import gantt
from gantt.launch.launchers import PLUGINS
from gantt.launch.outcome import LaunchOptions
from gantt.model.selection import Selection
from tests import live
from tests.launch.fleet import in_use
from tests.launch.test_process import UUID, work
from tests.programs import printed
from tests.tidy.source import ROOT

TEXT = (ROOT / "docs" / "how-to" / "launching.md").read_text(encoding="utf-8")
EXAMPLE, PLUGIN = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_its_example_prints_what_is_shown() -> None:
    (shown,) = re.findall(r"```python.*?```\n+```text\n(.*?)```", TEXT, re.DOTALL)
    ran = printed([sys.executable, "-c", EXAMPLE])
    assert ran == shown


def test_its_options_are_those_there_are() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", TEXT, re.MULTILINE)
    shown = {name: float(default) for name, default in rows}
    options = LaunchOptions()
    assert shown == {name: getattr(options, name) for name in options.__struct_fields__}


def test_its_plug_in_is_a_launcher(tmp_path: Path, monkeypatch: Any) -> None:
    found: dict[str, Any] = {}
    exec(PLUGIN, found)
    assert PLUGINS in TEXT
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" $GANTT_INSTANCE > {tmp_path}/told\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    selection = Selection(None, "host-7", "host-7")
    workload = found["ShellLauncher"]().launch(selection, work("run", "the it"))
    assert workload.wait() == 0
    told = (tmp_path / "told").read_text()
    assert told == f"-tt host-7 env GANTT_INSTANCE={UUID} run 'the it'\n"


def first_launch(url: str, process: int) -> str:
    """What ``make run`` prints after the service answers."""
    return printed(
        [ROOT / "scripts" / "first-launch", url, str(process)],
        env={**os.environ, "GANTT": shlex.join(live.program())},
        stderr=subprocess.STDOUT,
    )


def test_make_run_launches_a_process_and_releases_its_claim(tmp_path: Path) -> None:
    assert "\nscripts/first-launch " in (ROOT / "scripts" / "run").read_text()
    options = ("--auth", "noauth2", "--register-machine")
    url = f"sqlite:///{tmp_path}/gantt.db"
    service = live.start(url, tmp_path / "log", options=options)
    try:
        said = first_launch(service.url, service.process.pid)
        assert f"The dashboard is at {service.url}/gantt/ui" in said
        books = gantt.connect(service.url)
        (host,) = books.list_hosts()
        seen = re.search(rf"Process \d+ runs on {host.host} as instance (\S+)\.", said)
        assert seen, said
        for words in (
            "Claimed in the books: 64 MEMORY_MB.",
            "Seen by the agent: the host names the instance.",
            "It has ended: its claim is released",
        ):
            assert words in said, said
        # Those of other tests that run here may be named, too.
        assert seen[1] not in host.instances
        assert books.get_allocations(seen[1]) is None
        assert in_use(books, (host.host,)) == {}
        assert host.provider_uuid is not None
        assert books.get_usages(host.provider_uuid).usages["MEMORY_MB"] == 0
        books.close()
    finally:
        service.kill()


def test_make_run_launches_nothing_where_the_service_has_ended() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert first_launch(f"http://127.0.0.1:{live.free_port()}", ended.pid) == ""
