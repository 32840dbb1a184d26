"""Workers that answer for each other: over real sockets, and as real processes."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from msgspec.structs import replace

from gantt.api import siblings
from gantt.api.siblings import Siblings
from gantt.client.remote import RemoteGantt
from gantt.engine.opening import open_gantt
from gantt.engine.records import Asked, Records, Told
from gantt.model.hosts import HostStats
from gantt.model.selection import Decision, Limits, Score, Selection, Step, Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.api.native.fleet import SPEC, STATS, A, B, client_of, report
from tests.live import Live, served

WAIT_S = 30.0
DEAD = 4_194_305  # no process has this number


def decision(name: str, at: int = 0, **fields: Any) -> Decision:
    return Decision(name, (f"{name}-0",), "p", 1, at, "filter", 1, (), (), **fields)


def keeping(*kept: Decision) -> Records:
    records = Records(1000)
    for one in kept:
        records.add(one)
    return records


Joins = Callable[..., Siblings]


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Joins]:
    """Makes workers that share a directory, with numbers of their own."""
    joined: list[Siblings] = []

    def of(*kept: Decision, folder: Path = tmp_path) -> Siblings:
        records = keeping(*kept)
        joined.append(Siblings(folder, records.own, pid=1 + len(joined)))
        return joined[-1]

    yield of
    for one in joined:
        one.close()


def ids(told: Told) -> list[str]:
    return [one.request_id for one in told.decisions]


def test_each_hears_all_the_others(join: Joins, tmp_path: Path) -> None:
    one, two, three = join(decision("a")), join(decision("b")), join(decision("c"))
    for worker, others in ((one, ["b", "c"]), (two, ["a", "c"]), (three, ["a", "b"])):
        told = worker.ask(Asked())
        assert (ids(told), told.unheard) == (others, 0)
    assert ids(one.ask(Asked("c"))) == ["c"]
    assert ids(one.ask(Asked(instance_uuid="b-0"))) == ["b"]
    assert ids(one.ask(Asked(project_id="q"))) == []
    two.close()
    told = one.ask(Asked())
    assert (ids(told), told.unheard) == (["c"], 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "3"]


def test_a_decision_comes_as_it_was_kept(join: Joins) -> None:
    whole = decision(
        "a",
        why=Why((Step("f", 2, 1, 1),), change="ask for less"),
        chosen=((Selection(None, "h", "n", limits=Limits({"cells": [1]})),),),
        timings={"decide": 0.25},
        failure="none",
    )
    join(whole)
    assert join().ask(Asked()).decisions == (whole,)


def test_only_as_many_as_were_asked_for_and_the_latest(join: Joins) -> None:
    join(*(decision(f"d{number}") for number in range(300)))
    one = join()
    assert ids(one.ask(Asked(limit=2))) == ["d299", "d298"]
    assert len(one.ask(Asked(limit=1000)).decisions) == 300


def test_a_long_path_is_no_hindrance(join: Joins, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    join(decision("a"), folder=folder)
    assert ids(join(folder=folder).ask(Asked())) == ["a"]


def test_who_cannot_listen_still_asks(
    join: Joins, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost = join(decision("a"), folder=tmp_path / "gone")
    assert "cannot ask this one for its decisions" in caplog.text
    assert lost.ask(Asked()) == Told()


def test_the_dead_are_passed_over_and_called_once(join: Joins, tmp_path: Path) -> None:
    one = join()
    join(decision("b"))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / str(DEAD)))
    left.close()
    told = one.ask(Asked())
    assert (ids(told), told.unheard) == (["b"], 1)
    assert one.ask(Asked()).unheard == 0


def test_the_slow_are_passed_over_in_time(join: Joins, tmp_path: Path) -> None:
    one = join()
    join(decision("b"))
    stopped = []
    for number in range(3):  # they sort before and after, and all of them are stuck
        other = socket.socket(socket.AF_UNIX)
        other.bind(str(tmp_path / f"{number * 10}"))
        other.listen()
        stopped.append(other)
    since = time.monotonic()
    told = one.ask(Asked())
    assert time.monotonic() - since < 3 * siblings.TIME_S
    assert (ids(told), told.unheard) == (["b"], 3)
    for other in stopped:
        other.close()


@pytest.mark.parametrize(
    "said", [b"", b"\0\0", b"\0\0\0\5abc", b"\0\0\0\2\xc1\xc1\0\0\0\0", b"\xff" * 99]
)
def test_what_makes_no_sense_is_passed_over(
    join: Joins, tmp_path: Path, said: bytes
) -> None:
    one = join()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "77"))
        other.listen()
        other.settimeout(WAIT_S)

        def answer() -> None:
            asker, _ = other.accept()
            with asker:
                while asker.recv(1024):
                    pass
                asker.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        assert one.ask(Asked()) == Told((), 1)
        thread.join()


def test_questions_that_make_no_sense_are_dropped(join: Joins, tmp_path: Path) -> None:
    join(decision("a"))
    for question in (b"", b"nonsense", b"x" * (siblings.MOST_ASKED + 1)):
        with socket.socket(socket.AF_UNIX) as asker:
            asker.settimeout(WAIT_S)
            asker.connect(str(tmp_path / "1"))
            with suppress(ConnectionError):  # it may hang up in the middle of it
                asker.sendall(question)
                asker.shutdown(socket.SHUT_WR)
                assert asker.recv(10) == b""
    assert ids(join().ask(Asked())) == ["a"]


def test_an_answer_is_bounded_and_the_latest_come(
    join: Joins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(siblings, "MOST_TOLD", 100_000)
    scores = tuple(Score(f"host-{number}", "node", 1.0) for number in range(500))
    kept = (decision(f"d{number}") for number in range(20))
    join(*(replace(one, scores=scores) for one in kept))
    told = join().ask(Asked())
    assert told.unheard == 1
    assert ids(told) == [f"d{19 - number}" for number in range(len(told.decisions))]
    assert 0 < len(told.decisions) < 20


def test_what_others_tell_is_shown_as_callers_may_see_it(tmp_path: Path) -> None:
    """Whole for who runs the fleet; for others counts, of their own project alone."""
    with open_gantt("memory://") as books, open_gantt("memory://") as other:
        theirs, ours = client_of(other), client_of(books)
        report(theirs, "one", "two")
        for name, project, uuid in (("req-1", "blue", A), ("req-2", "red", B)):
            body = {
                "request_spec": {**SPEC, "project_id": project},
                "instance_uuids": [uuid],
                "context": {"request_id": name},
            }
            assert theirs("POST", "/gantt/select", body=body).status == 200
        path = "/gantt/decisions"
        assert ours("GET", path).json["decisions"] == []
        teller = Siblings(tmp_path, other.own_decisions, pid=1)
        asker = Siblings(tmp_path, books.own_decisions, pid=2)
        books.consult(asker.ask)
        whole = ours("GET", path).json["decisions"]
        assert [one["request_id"] for one in whole] == ["req-2", "req-1"]
        assert whole == theirs("GET", path).json["decisions"]
        blue = {"x-auth-token": "bob:blue", "x-roles": "reader"}
        (bare,) = ours("GET", f"{path}?limit=1", headers=blue).json["decisions"]
        assert bare["request_id"] == "req-1"
        assert bare["scores"] == bare["chosen"] == []
        assert '"one"' not in ours("GET", path, headers=blue).text
        teller.close()
        asker.close()


# -- real workers -----------------------------------------------------------------


def workers(live: Live) -> list[int]:
    path = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def sockets(live: Live) -> set[int]:
    folder = Path(live.database.removeprefix("sqlite:///")).parent / "run" / "workers"
    return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def decide(live: Live, *names: str) -> None:
    """Each by a connection of its own, so that both workers decide some."""
    for name in names:
        spec = RequestSpec(Flavor(vcpus=1, memory_mb=64, root_gb=1), project_id="blue")
        request = ScheduleRequest(spec, (str(uuid4()),), request_id=name)
        one = RemoteGantt(live.url)
        one.schedule(request)
        one.close()


def found(live: Live, name: str) -> list[str]:
    one = RemoteGantt(live.url)
    try:
        return [record.request_id for record in one.decisions(request_id=name)]
    finally:
        one.close()


def test_any_worker_finds_each_decision(tmp_path: Path) -> None:
    config = tmp_path / "gantt.conf"
    config.write_text(f"[gantt]\nworkers = 2\nrun_directory = {tmp_path}/run\n")
    with served(tmp_path, options=("--config-file", str(config))) as live:
        until(lambda: len(sockets(live)) == 2)
        stats = msgspec.convert({**STATS, "vcpus": 64}, HostStats)
        RemoteGantt(live.url).update_host("one", "one", stats)
        before = [f"req-{number}" for number in range(8)]
        decide(live, *before)
        for name in before:
            assert [found(live, name) for _ in range(4)] == [[name]] * 4
        # One that dies takes its own along; its successor hears of the others', and
        # tells what it decides itself.
        dead = workers(live)[0]
        os.kill(dead, signal.SIGKILL)
        until(lambda: len(workers(live)) == 2 and dead not in workers(live))
        until(lambda: set(workers(live)) <= sockets(live))
        after = [f"req-{number}" for number in range(8, 16)]
        decide(live, *after)
        left = [name for name in before if found(live, name)]
        for name in (*left, *after):
            assert [found(live, name) for _ in range(4)] == [[name]] * 4
        assert sockets(live) == set(workers(live))
        folder = tmp_path / "run" / "workers"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert live.stop() == 0
        assert not list(folder.iterdir())
        assert "Traceback" not in live.log.read_text()
