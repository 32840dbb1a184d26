"""The settings in force are the last good ones, in new workers as well."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from granian.server.mp import MPServer

from gantt.api.hosting.run_directory import Configured, RunDirectory
from gantt.api.hosting.upkeep import Upkeep
from gantt.api.hosting.worker_processes import Processes
from gantt.conf import ConfigSource, Mutable, Settings, load
from gantt.connection import open_gantt
from gantt.errors import Refused
from gantt.observe.metrics import Meters

WAIT_S = 10.0
FILTERS = "[filter_scheduler]\nenabled_filters = {}\n"


def test_bad_configuration_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(FILTERS.format("ComputeFilter"))
    configured = Configured(ConfigSource((str(file),)))
    before = configured.settings
    for bad in (FILTERS.format("NoSuchFilter"), "[gantt]\nworkers = none\n", "x"):
        file.write_text(bad)
        with pytest.raises(Refused):
            configured.reread()
        assert configured.settings is before
    file.write_text(FILTERS.format("NUMATopologyFilter"))
    scheduler = configured.reread().engine.scheduler
    assert scheduler.enabled_filters == ("NUMATopologyFilter",)


def test_sighups_during_another_are_handled_at_once(tmp_path: Path) -> None:
    said = iter(("old", "new"))
    reads = []
    run = RunDirectory.begin(str(tmp_path / "run"))

    def reread() -> Settings:
        reads.append(1)
        freshness = "bounded" if (one := next(said)) == "new" else "strict"
        found = load(environ={}, overrides={("gantt", "freshness"): freshness})
        if one == "old":
            for _ in range(1000):
                processes.signal_handler_reload()
        return found

    processes = Processes("gantt", run=run, reread=reread, delay_s=0)
    begin(processes)
    processes.signal_handler_reload()
    give_up = time.monotonic() + WAIT_S
    while (told := run.changed(0)) is None or told[1].engine.freshness == "strict":
        assert time.monotonic() < give_up
        time.sleep(0.01)
    time.sleep(0.1)  # in which more would be read
    assert len(reads) == 2


def test_bad_configuration_is_refused_at_start(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(FILTERS.format("NoSuchFilter"))
    with pytest.raises(Refused, match="NoSuchFilter"):
        Configured(ConfigSource((str(file),)))


def test_mutable_settings_are_complete_and_contain_no_secrets() -> None:
    token = ("scheduler", "placement_token")
    told = load(environ={}, overrides={token: "s3cret"}).mutable
    text = msgspec.json.encode(told)
    assert b"s3cret" not in text
    assert msgspec.json.decode(text, type=Mutable) == told


def test_process_applies_changed_settings(tmp_path: Path) -> None:
    run = RunDirectory.begin(str(tmp_path / "run"))
    with open_gantt("memory://") as books:
        upkeep = Upkeep(Meters(books.counts), books, run)
        upkeep.close()
        filters = ("filter_scheduler", "enabled_filters")
        run.change(load(environ={}, overrides={filters: ["ComputeFilter"]}).mutable)
        upkeep.turn()
        assert books._checks.options.enabled_filters == ("ComputeFilter",)
        books.retune(load(environ={}).engine)
        upkeep.turn()  # nothing new
        assert books._checks.options.enabled_filters != ("ComputeFilter",)


def test_streams_end_before_workers_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory.begin(str(tmp_path / "run"))
    seen: list[bool] = []
    monkeypatch.setattr(
        MPServer, "shutdown", lambda _self, _code: seen.append(run.is_stopping())
    )
    processes = Processes("gantt", run=run, reread=load, delay_s=0)
    assert not run.is_stopping()
    processes.shutdown()
    assert seen == [True]


@contextmanager
def holding(handler: logging.Handler) -> Iterator[None]:
    """Its lock is held meanwhile."""
    handler.acquire()
    try:
        yield
    finally:
        handler.release()


def begin(processes: Processes) -> None:
    """As at startup, without workers, and without the signals of this process."""
    processes._watch()


def test_a_signal_waits_for_no_lock_of_what_it_interrupts(tmp_path: Path) -> None:
    """Else two signals in a row stop the service for good: the second interrupts the
    handler of the first, which has this lock."""
    run = RunDirectory.begin(str(tmp_path / "run"))
    processes = Processes("gantt", run=run, reread=load, delay_s=0)
    begin(processes)
    event = processes.main_loop_interrupt
    handle = processes.signal_handler_interrupt
    with event._cond:  # type: ignore[attr-defined]
        handling = threading.Thread(target=handle, args=(signal.SIGTERM,), daemon=True)
        handling.start()
        handling.join(WAIT_S)
        assert not handling.is_alive()
    assert event.wait(WAIT_S)
    assert processes.interrupt_signal


def test_a_signal_waits_for_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it interrupts may be writing a line just now."""
    caplog.set_level(logging.INFO)
    run = RunDirectory.begin(str(tmp_path / "run"))
    processes = Processes("gantt", run=run, reread=load, delay_s=0)
    begin(processes)
    with holding(caplog.handler):
        for handle, number in (
            (processes.signal_handler_reload, signal.SIGHUP),
            (processes.signal_handler_interrupt, signal.SIGTERM),
        ):
            handling = threading.Thread(target=handle, args=(number,), daemon=True)
            handling.start()
            handling.join(WAIT_S / 2)
            assert not handling.is_alive()
        assert run.is_draining()
    assert processes.main_loop_interrupt.wait(WAIT_S)
    assert "SIGTERM: no longer ready" in caplog.text


def test_a_further_signal_ends_the_delay(tmp_path: Path) -> None:
    run = RunDirectory.begin(str(tmp_path / "run"))
    processes = Processes("gantt", run=run, reread=load, delay_s=3600)
    begin(processes)
    processes.signal_handler_interrupt(signal.SIGTERM)
    assert not processes.main_loop_interrupt.wait(0.2)
    processes.signal_handler_interrupt(signal.SIGTERM)
    assert processes.main_loop_interrupt.wait(WAIT_S)


def test_only_public_methods_of_granian_are_overridden(tmp_path: Path) -> None:
    run = RunDirectory.begin(str(tmp_path / "run"))
    ours = {**vars(Processes), **vars(Processes("x", run=run, reread=load, delay_s=0))}
    theirs = {*dir(MPServer("x"))}
    added = ours.keys() - vars(MPServer("x")).keys()
    shared = {name for name in added & theirs if not name.startswith("__")}
    assert shared == {"shutdown", "signal_handler_interrupt", "signal_handler_reload"}
