"""Calls of all threads, counted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from tests.work.counting import CallCounter


@pytest.fixture(scope="module")
def counter() -> Iterator[CallCounter]:
    made = CallCounter()
    threading.setprofile(made.note)
    sys.setprofile(made.note)
    yield made
    sys.setprofile(None)
    threading.setprofile(None)
