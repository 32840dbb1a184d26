"""The wire contract as transcripts: gabbi's YAML form, run in this process.

Each file is one story against empty books in memory, in order. ``$ENVIRON`` is not
used: uuids are written out, so that a transcript can be read as it stands.
"""

from __future__ import annotations

import unittest
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from gabbi import handlers, suitemaker, utils

from gantt.api.app import build_app
from gantt.api.middleware import WsgiApp
from gantt.conf import load
from gantt.connection import open_gantt

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.yaml"))


@pytest.fixture
def app() -> Iterator[WsgiApp]:
    """The whole service, as operators run it, with noauth2 and without a file."""
    settings = load(environ={}, default_auth="noauth2")
    books = open_gantt("memory://")
    yield build_app(books, settings)
    books.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, app: WsgiApp) -> None:
    story = suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        f"wire_{path.stem}",
        utils.load_yaml(yaml_file=str(path)),
        str(path.parent),
        host=str(uuid.uuid4()),
        port=80,
        fixture_module=None,
        intercept=lambda: app,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )
    result = unittest.TestResult()
    story.run(result)
    faults = result.failures + result.errors
    told = [f"{step.id()}\n{trace[-1500:]}" for step, trace in faults]
    assert not told, f"{len(told)} of {result.testsRun} steps\n" + "\n".join(told[:5])
    assert result.testsRun
    assert not result.skipped
