"""What docs/how-to/plugins.md shows is right: its classes pass the kit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mypy import api

from gantt.testing import check_driver, check_filter
from tests.tidy.source import ROOT

SHOWN = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs" / "how-to" / "plugins.md").read_text(),
    re.DOTALL | re.MULTILINE,
)


def test_what_is_shown_passes_the_kit() -> None:
    names: dict[str, Any] = {"__name__": "shown"}
    for block in SHOWN:
        exec(block, names)
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        names[name]()
    assert check_filter(names["RamFilter"], seeds=range(8), limit_s=30.0).refused
    assert check_driver(names["PackingDriver"], seeds=range(8), limit_s=30.0).hosts


def test_what_is_shown_is_typed(tmp_path: Path) -> None:
    # Imports first, as one file would have them.
    lines = "\n".join(SHOWN).splitlines()
    imports = [line for line in lines if line.startswith(("import", "from"))]
    rest = [line for line in lines if line not in imports]
    shown = tmp_path / "shown.py"
    shown.write_text("\n".join((*imports, *rest)))
    cache = str(ROOT / ".mypy_cache")
    said, _, status = api.run(["--strict", "--cache-dir", cache, str(shown)])
    assert status == 0, said
