"""OpenStack Placement's own suite against Gantt: one test here for each of its files.

Every file gets new books and an application of its own, in this process. How many of
the requests were answered as they should be is said at the end of the test run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gantt.api.hosting.server import open_app
from tests.conformance.fixtures import FIXTURES, everywhere
from tests.conformance.profiles import settings_of
from tests.conformance.upstream import (
    CHANGED,
    SYSTEM,
    VERSION,
    VERSIONS,
    read_suite,
    run_suite,
    suite_names,
)
from tests.conformance.world import build

SUITES = suite_names()
WHAT = f"tests of OpenStack Placement {VERSION}"


@pytest.mark.parametrize("name", SUITES)
def test_suite(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    suite = read_suite(name)
    fixture = FIXTURES[suite.fixture]
    app, books = open_app(settings_of(fixture.profile, tmp_path))
    try:
        for variable, value in build(books, fixture.world, everywhere()).items():
            monkeypatch.setenv(variable, value)
        failures = run_suite(suite, app)
    finally:
        books.close()
    passed = len(suite.tests) - len(failures)
    if (follow := CHANGED.get(VERSION, {}).get(name)) is not None:
        systems = [one for one in suite.tests if one.startswith(SYSTEM)]
        changed = [one for one in suite.tests if one in follow or one in systems]
        assert systems and [each.test for each in failures] == changed
        refused = [each.text for each in failures if each.test in systems]
        assert all(text.startswith("'403' not found in ") for text in refused)
        return
    record_property("counted", [WHAT, passed, len(suite.tests)])
    assert not failures, "\n\n".join(f"{each.test}:\n{each.text}" for each in failures)


def test_suite_is_complete_and_uses_every_fixture() -> None:
    suites = [read_suite(name) for name in SUITES]
    count = sum(len(suite.tests) for suite in suites)
    assert (len(suites), count) == VERSIONS[VERSION]
    assert {suite.fixture for suite in suites} == FIXTURES.keys()
