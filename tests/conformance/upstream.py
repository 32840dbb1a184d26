"""OpenStack Placement's own gabbi suite, read from its installed package.

Nothing of it is kept here: the package is found by its metadata and never imported,
its YAML is read when the tests run.
"""

from __future__ import annotations

import os
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
# A token for the system may act in release 15; 16 and Gantt refuse it. Files in which
# it does -> what is then refused to others, as it builds on what the first did.
SYSTEM = "system admin can "
_FOLLOW = {
    "aggregate": ("update aggregates", "list aggregates"),
    "allocation-candidates": (),
    "allocations": (
        "update allocation",
        "delete allocations",
        "list allocations for resource provider",
        "manage allocations",
    ),
    "inventory": (),
    "resource-provider": (),
}
CHANGED = {
    "15.0.0": {
        f"{name}-legacy-rbac": frozenset(f"project admin can {one}" for one in tests)
        for name, tests in _FOLLOW.items()
    }
}
# scripts/releases names another than that of .venv.
VERSION = os.environ.get("GANTT_PLACEMENT_RELEASE", "16.0.0")
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
    wanted = f"{PACKAGE}=={VERSION}"
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError:
        raise AssertionError(f"{wanted} is not installed: make setup") from None
    assert found.version == VERSION, f"{PACKAGE} is {found.version}, not {VERSION}"
    return Path(str(found.locate_file(FOLDER)))


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
