"""A skip is a line on a desk and a failure on a build server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import SERVERS
from tests.guarded import Missing

pytest_plugins = ["pytester"]

SAMPLE = """
import pytest

@pytest.mark.server("oracle")
def test_of_a_server():
    pass

def test_that_skips():
    pytest.skip("no reason")

def test_that_passes():
    pass
"""

COUNTING_SAMPLE = """
import pytest

def test_good(record_property):
    record_property("counted", ["apples", 1000, 1000])

def test_bad(record_property):
    record_property("counted", ["apples", 7, 9])
    record_property("told", ["Eaten", {"pears": 5}])
    assert False

@pytest.mark.parametrize("more", [1, 2])
def test_told(record_property, more):
    record_property("told", ["Eaten", {"apples": 1000, "pears": more}])
"""


class Absent:
    """A server that is not installed."""

    @staticmethod
    def find() -> Path:
        raise Missing("oracle: no oracled here; install oracle")


class Present:
    """A server that is."""

    @staticmethod
    def find() -> Path:
        return Path("/usr/bin")


@pytest.fixture
def sample(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    conftest = Path(__file__).with_name("conftest.py")
    pytester.makeconftest(conftest.read_text())
    pytester.makeini("[pytest]\nmarkers = server(name): x\n    slow: y\n")
    pytester.makepyfile(SAMPLE)
    monkeypatch.delenv("GANTT_REQUIRE_SERVERS", raising=False)
    monkeypatch.setitem(SERVERS, "oracle", Absent)


@pytest.mark.usefixtures("sample")
def test_skip_is_reported_on_one_line(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        ["Did not run: 1 x no reason; 1 x oracle: no oracled here; install oracle"]
    )


@pytest.mark.usefixtures("sample")
def test_skip_fails_if_servers_are_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANTT_REQUIRE_SERVERS", "1")
    result = pytester.runpytest_inprocess()
    counts = result.parseoutcomes()
    assert counts["passed"] == 1
    assert counts.get("failed", 0) + counts.get("errors", 0) == 2


@pytest.mark.usefixtures("sample")
def test_installed_server_is_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SERVERS, "oracle", Present)
    pytester.runpytest_inprocess().assert_outcomes(passed=2, skipped=1)


def test_recorded_counts_are_summed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyfile(COUNTING_SAMPLE)
    result = pytester.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        ["Passed 1,007 of 1,009 apples", "Eaten: 2,000 apples, 3 pears"]
    )


def test_module_level_skip_fails_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyfile("import pytest\npytest.skip('no', allow_module_level=True)\n")
    monkeypatch.setenv("GANTT_REQUIRE_SERVERS", "1")
    pytester.runpytest_inprocess().assert_outcomes(errors=1)
