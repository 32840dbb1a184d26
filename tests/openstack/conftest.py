"""Empty databases of Nova, made once: its migrations take seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.openstack.feed import make_schema
from tests.programs import printed


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with empty databases: copying them is quicker than migrating."""
    folder = tmp_path_factory.mktemp("nova")
    printed(
        [
            sys.executable,
            make_schema.__file__,
            *(f"sqlite:///{folder}/{name}.db" for name in ("api", "cell")),
        ]
    )
    return folder
