"""Empty databases of Nova, made once: its migrations take seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.openstack.feed import make_schema


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with empty databases: copying them is quicker than migrating."""
    folder = tmp_path_factory.mktemp("nova")
    made = subprocess.run(
        [
            sys.executable,
            make_schema.__file__,
            *(f"sqlite:///{folder}/{name}.db" for name in ("api", "cell")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder
