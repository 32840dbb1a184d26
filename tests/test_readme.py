"""What the README shows in Python does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_hosts_are_picked_as_shown() -> None:
    part = README.partition("## Pick and claim hosts")[2]
    shown = re.search(r"```python\n(.*?)```\s+```\n(.*?)```", part, re.DOTALL)
    assert shown is not None
    code, expected = shown.groups()
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == expected
