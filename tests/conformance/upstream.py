"""OpenStack Placement's own gabbi suite, read from its installed package.

Nothing of it is kept here: the package is found by its metadata and never imported,
its YAML is read when the tests run.
"""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from gabbi import handlers, suitemaker, utils
from msgspec import Struct

from gantt.api.middleware import WsgiApp

PACKAGE = "openstack-placement"
# Releases -> their files, and the tests in them.
VERSIONS = {"15.0.0": (79, 1313), "16.0.0": (79, 1316)}
# Files in which release 15 lets a token for the system act, which 16 and Gantt refuse.
_OF_15 = (
    "aggregate allocation-candidates allocations inventory resource-provider".split()
)
CHANGED = {"15.0.0": frozenset(f"{one}-legacy-rbac" for one in _OF_15)}
try:
    VERSION = distribution(PACKAGE).version
except PackageNotFoundError:
    VERSION = "not installed"
FOLDER = "placement/tests/functional/gabbits"


class Suite(Struct, frozen=True):
    """One file. ``fixture`` is the name of the data and options that it wants."""

    name: str
    fixture: str
    content: Mapping[str, Any]

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(str(test["name"]) for test in self.content["tests"])


def folder() -> Path:
    """Where the files are. Raises AssertionError when they are not those we mean."""
    known = ", ".join(VERSIONS)
    assert VERSION in VERSIONS, f"{PACKAGE} is {VERSION}, none of {known}: make setup"
    return Path(str(distribution(PACKAGE).locate_file(FOLDER)))


def suite_names() -> list[str]:
    """The names of all files, without their ending."""
    return sorted(file.stem for file in folder().glob("*.yaml"))


def read_suite(name: str) -> Suite:
    """The file called ``name``."""
    content = utils.load_yaml(yaml_file=str(folder() / f"{name}.yaml"))
    (fixture,) = content["fixtures"]
    return Suite(name, str(fixture), content)


class Failure(Struct, frozen=True):
    """A test that did not pass; two of one file may have the same name."""

    test: str
    text: str


def run_suite(suite: Suite, app: WsgiApp) -> list[Failure]:
    """Send the requests of ``suite`` to ``app``, in order, and compare the answers."""
    cases = suitemaker.test_suite_from_dict(
        loader=unittest.TestLoader(),
        test_base_name=suite.name,
        suite_dict=suite.content,
        test_directory=str(folder()),
        host="placement.example",
        port=80,
        fixture_module=None,
        intercept=lambda: app,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )
    result = Result()
    cases.run(result)
    assert result.testsRun == len(suite.tests)
    return result.kept


class Result(unittest.TestResult):
    """Keeps what failed, or did not run at all."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Failure] = []

    def addFailure(self, test: Any, err: Any) -> None:
        self._keep(test, str(err[1]))

    def addError(self, test: Any, err: Any) -> None:
        self._keep(test, f"{type(err[1]).__name__}: {err[1]}")

    def addSkip(self, test: Any, reason: str) -> None:
        self._keep(test, f"skipped: {reason}")

    def _keep(self, test: Any, text: str) -> None:
        self.kept.append(Failure(str(test.test_data["name"]), text))
