"""The WSGI servers that a guide names: each command, as it stands there, serves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPResponse
from itertools import count, islice
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from prometheus_client.mmap_dict import MmapedDict

from tests import live
from tests.guides.guide import shown
from tests.guides.wsgi_servers import installed
from tests.programs import begun

(BLOCK,) = (one for one in shown("serving") if one.name.startswith("$ gunicorn"))
GUNICORN = [one for one in BLOCK.commands if one.startswith("gunicorn ")]
(UWSGI,) = (one for one in BLOCK.commands if one.startswith("uwsgi "))
# As the guide says in words.
SYNC = GUNICORN[0].replace("--workers 2 --threads 8", "--workers 4")
ROUNDS = 20
AT_ONCE = 4
ADMIN = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}


def version(text: str) -> str:
    """The one that was tried, which stands behind a command."""
    (found,) = re.findall(r"# ([\d.]+)$", text, re.MULTILINE)
    return str(found)


def ask(url: str, path: str, method: str = "GET") -> HTTPResponse:
    """The answer to the administrator, whose body can still be read."""
    request = Request(url + path, method=method, headers=ADMIN)
    found: HTTPResponse = urlopen(request, timeout=live.STOP_S)
    return found


def text(url: str, path: str) -> str:
    """What is there."""
    with ask(url, path) as answer:
        return answer.read().decode()


def rounds(url: str) -> Iterator[str]:
    """Names of traits, each new. One process writes it, and whichever are asked next,
    several at once, must have it."""
    with ThreadPoolExecutor(AT_ONCE) as callers:
        for number in count():
            name = f"CUSTOM_{number}"
            with ask(url, f"/traits/{name}", "PUT") as answer:
                assert answer.status == 201
            for found in callers.map(text, [url] * AT_ONCE, ["/traits"] * AT_ONCE):
                assert name in json.loads(found)["traits"]
            yield name


@contextmanager
def watcher(url: str) -> Iterator[Iterator[str]]:
    """The names of traits that a stream tells of, from now on."""
    with ask(url, "/gantt/watch") as stream:
        assert stream.readline().startswith(b"retry: ")
        lines = (line for line in stream if line.startswith(b"data: "))
        events = (json.loads(line.removeprefix(b"data: ")) for line in lines)
        yield (event["changes"][0]["row"]["name"] for event in events)


def counted(folder: Path) -> dict[str, Counter[str]]:
    """How many requests for traits each process has answered, by method; they share a
    file of each."""
    found: dict[str, Counter[str]] = {}
    for file in folder.glob("counter_*.db"):
        process = found.setdefault(file.stem.rpartition("_")[2], Counter())
        values = MmapedDict.read_all_values_from_file(str(file))  # type: ignore[no-untyped-call]
        for key, value, *_ in values:
            _, name, labels, _ = json.loads(key)
            if name == "gantt_http_requests_total" and "/traits" in labels["route"]:
                process[labels["method"]] += int(value)
    return found


def added_up(url: str) -> int:
    """How many reads of traits any process tells, of all."""
    hit = re.search(
        r'^gantt_http_requests_total{code="200",method="GET",route="/traits"} (\S+)$',
        text(url, "/metrics"),
        re.MULTILINE,
    )
    return int(float(hit[1])) if hit else 0


def serve(programs: Path, command: str, folder: Path) -> live.Live:
    """What the command starts, on a new database. gunicorn's own port is 8000, and
    its variable for options changes that."""
    books = f"sqlite:///{folder}/books.db"
    (folder / "gantt.conf").write_text(
        "[api]\nauth_strategy = noauth2\n"
        f"[placement_database]\nconnection = {books}\nsync_on_startup = true\n"
        "[gantt]\nwatch_heartbeat_s = 1\n"  # how soon a watcher's end is noticed
    )
    (folder / "metrics").mkdir()
    address = f"127.0.0.1:{live.free_port()}"
    environ = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),  # gunicorn's socket for control is there
        "GUNICORN_CMD_ARGS": f"--bind {address}",
        "OS_GANTT_CONFIG_DIR": str(folder),
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
    }
    with (folder / "log").open("wb") as log:
        process = begun(
            ["sh", "-c", "exec " + command.replace(" :8778 ", f" {address} ")],
            log,
            cwd=folder,
            env={**os.environ, **environ},
        )
    return live.Live(f"http://{address}", books, process, folder / "log")


def try_all(service: live.Live, workers: int, metrics: Path) -> None:
    """What one process writes, all read, and a watcher hears of; each writes and
    reads; any process tells the counts of all."""
    made = rounds(service.url)
    with watcher(service.url) as heard:
        names = list(islice(made, ROUNDS))
        assert list(islice(heard, ROUNDS)) == names
    give_up = time.monotonic() + live.STOP_S
    while not did_all(counted(metrics), workers):
        names.append(next(made))
        assert time.monotonic() < give_up, counted(metrics)
    while (reads := added_up(service.url)) != AT_ONCE * len(names):
        assert time.monotonic() < give_up, reads
        time.sleep(0.2)  # a process tells the others once a second


def did_all(found: dict[str, Counter[str]], workers: int) -> bool:
    """Whether each of so many processes has written and read."""
    assert len(found) <= workers
    return sum(one["PUT"] > 0 and one["GET"] > 0 for one in found.values()) == workers


def end(service: live.Live) -> None:
    """SIGTERM ends all its processes, and well."""
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(live.STOP_S) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(service.process.pid, 0)


def serves(programs: Path, command: str, folder: Path) -> None:
    """All of that, and the tables keep every invariant."""
    (workers,) = re.findall(r"--(?:workers|processes) (\d+)", command)
    service = serve(programs, command, folder)
    try:
        live.wait_until_up(service)
        try_all(service, int(workers), folder / "metrics")
        end(service)
    except BaseException:
        print(service.log.read_text())
        raise
    finally:
        service.kill()
    manage = Path(sys.executable).with_name("gantt-manage")
    subprocess.run([manage, "--database", service.database, "verify"], check=True)


@pytest.fixture(scope="module")
def gunicorn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gunicorn")
    return installed(folder, f"gunicorn=={version(BLOCK.text.split('uwsgi')[0])}")


@pytest.mark.parametrize("command", [*GUNICORN, SYNC])
def test_gunicorn_serves(gunicorn: Path, command: str, tmp_path: Path) -> None:
    serves(gunicorn, command, tmp_path)


def test_sync_workers_are_tried_too() -> None:
    assert "--threads" in GUNICORN[0]
    assert "--threads" not in SYNC


@pytest.mark.server("compiler")
def test_uwsgi_serves(tmp_path: Path) -> None:
    (tmp_path / "books").mkdir()
    programs = installed(tmp_path / "uwsgi", f"uwsgi=={version(UWSGI)}.*")
    serves(programs, UWSGI, tmp_path / "books")


def test_what_pip_cannot_bring_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(AssertionError) as found:
        installed(tmp_path, "gunicorn==0.0.0")
    said = str(found.value).splitlines()
    assert said[0] == "pip cannot install gunicorn==0.0.0:"
    assert "No matching distribution found for gunicorn==0.0.0" in said[-1]
