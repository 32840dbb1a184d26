"""What holds for all tests: which are slow, what a server is, what a skip costs.

A skip hides: on a build server, where everything can be installed, it is a failure
(GANTT_REQUIRE_SERVERS=1). Elsewhere one line at the end says what did not run.

Properties are tried on the same examples in every run, so that a change is judged by
what it changed. GANTT_EXPLORE=1 draws new ones: what it finds becomes a test.
tests/examples.py has how many there are.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gantt.agent import machine
from gantt.agent.workloads import sources
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.scheduler.plugins import registry
from gantt.store import StoreOptions, open_store
from tests.agent.libvirt_daemon import LibvirtDaemon
from tests.brokers import Rabbitmq, start_rabbitmq
from tests.coordinators import COORDINATORS
from tests.databases import SERVERS, Databases
from tests.deploy.promtool import Promtool
from tests.examples import examples
from tests.guarded import Missing
from tests.guides.nginx import Haproxy, Nginx
from tests.guides.wsgi_servers import Compiler
from tests.kafka_broker import Kafka, start_kafka
from tests.remembered import remember
from tests.spread import spread, workers
from tests.told import listed, sums
from tests.ui.browser import Chromium

# How quick a machine is says nothing about what is tested.
settings.register_profile(
    "same",
    max_examples=examples(40),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", print_blob=True)
settings.load_profile(
    "explore" if os.environ.get("GANTT_EXPLORE", "") not in {"", "0"} else "same"
)

SLOW_FOLDERS = frozenset(
    {"attacks", "clients", "cloud", "crash", "differential", "nova"}
)


def is_wanted(variable: str) -> bool:
    """Whether the environment says so."""
    return os.environ.get(variable, "") not in {"", "0"}


def _must_not_skip() -> bool:
    return is_wanted("GANTT_REQUIRE_SERVERS")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    items: list[pytest.Item],
) -> Generator[None, None, None]:
    """Mark what starts servers or real clients, or is long, as slow; and spread what is
    then chosen over the workers."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            folder = item.path.relative_to(here).parts[0]
            if folder in SLOW_FOLDERS:
                item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("server"):
            item.add_marker(pytest.mark.slow)
    yield
    if (count := workers()) > 1:
        items[:] = spread(items, count, here)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a server that is not installed."""
    for marker in item.iter_markers("server"):
        try:
            name = marker.args[0]
            others = {
                one.name: one
                for one in (
                    Rabbitmq,
                    Kafka,
                    Chromium,
                    Promtool,
                    Haproxy,
                    Nginx,
                    Compiler,
                    LibvirtDaemon,
                )
            }
            known = {**others, **SERVERS, **COORDINATORS}
            known[name].find()
        except Missing as missing:
            pytest.skip(str(missing))


def encodable(text: str) -> str:
    """With escapes in place of what UTF-8 has not."""
    return text.encode("utf-8", "backslashreplace").decode()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded to collect tests stays: no collection of garbage looks at it, of
    which those meanwhile took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _installed() -> Iterator[None]:
    """Nothing is installed during a run. To read the entry points of all packages takes
    ten times as long as all else that opens an engine."""
    known = cache(entry_points)
    with pytest.MonkeyPatch.context() as patch:
        for module in (registry, machine, sources):
            patch.setattr(module, "entry_points", known)
        remember(patch)
        yield


@pytest.fixture(scope="session")
def empty_books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with empty tables: copying it is quicker than migrating."""
    path = tmp_path_factory.mktemp("empty") / "books.db"
    open_store(f"sqlite:///{path}", StoreOptions(create=True)).close()
    return path


@pytest.fixture
def books() -> Iterator[Gantt]:
    """New ones in memory; folders and modules may have others."""
    with open_gantt("memory://") as found:
        yield found


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """The servers of this run; each is started for the first test that asks."""
    servers = Databases()
    yield servers
    servers.close()


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[Rabbitmq]:
    """The broker of this run; tests mark themselves with server("rabbitmq")."""
    with start_rabbitmq() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """The Kafka of this run; tests mark themselves with server("kafka")."""
    with start_kafka() as broker:
        yield broker


@pytest.fixture
def own_kafka() -> Iterator[Kafka]:
    """A Kafka that a test may stop."""
    with start_kafka() as broker:
        yield broker


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why ``report`` was skipped, without pytest's prefix."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and _must_not_skip():
        report.outcome = "failed"
        report.longrepr = f"skipped under GANTT_REQUIRE_SERVERS=1: {_reason(report)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where nothing may be skipped. What a test
    logged may be no UTF-8, and a worker that tells of it would end."""
    report = yield
    _refuse_skip(report)
    report.sections = [(name, encodable(text)) for name, text in report.sections]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module that skips itself."""
    report = yield
    _refuse_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for all that did not run, and one for what tests counted themselves."""
    reasons = Counter(_reason(r) for r in terminalreporter.getreports("skipped"))
    if reasons:
        listed = "; ".join(f"{n} x {reason}" for reason, n in sorted(reasons.items()))
        terminalreporter.write_line(f"Did not run: {listed}")
    for line in (*_counted(terminalreporter), *_told(terminalreporter)):
        terminalreporter.write_line(line)
    if not is_wanted("GANTT_CLOUD") and _is_whole(terminalreporter.config):
        terminalreporter.write_line("Left out: tests/cloud; `make cloud` runs it")
    if not is_wanted("GANTT_GUIDES") and _is_whole(terminalreporter.config):
        terminalreporter.write_line("Left out: most of tests/guides; GANTT_GUIDES=1")


def _is_whole(config: pytest.Config) -> bool:
    """Whether no selection of tests was asked for."""
    return bool(config.args == config.getini("testpaths"))


def _counted(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Sums of the property ``counted`` (what, how many passed, of how many)."""
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                if name == "counted":
                    what, good, of = value
                    passed[what] += good
                    total[what] += of
    for what, of in sorted(total.items()):
        yield f"Passed {passed[what]:,} of {of:,} {what}"


def _told(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Sums of the property ``told`` of what passed."""
    for headline, amounts in sums(terminalreporter.getreports("passed")).items():
        yield f"{headline}: {listed(amounts)}"
