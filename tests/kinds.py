"""The databases on which the same tests run, as parameters for pytest.

A test that needs a server bears its mark: it is slow, and skipped (or failed, see
conftest.py) where the server is not installed.
"""

from __future__ import annotations

import pytest

from tests.databases import SERVERS

SERVER_KINDS = [pytest.param(name, marks=pytest.mark.server(name)) for name in SERVERS]
KINDS = ["sqlite", *SERVER_KINDS]
ON_SQLITE = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
