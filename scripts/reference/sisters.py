"""ARCHITECTURE.md and CONTRIBUTING.md for the documentation, which includes them: in
the repository they link to each other, here each is a page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_PAGES: Final = {
    "ARCHITECTURE.md": "docs/explanation/architecture.md",
    "CONTRIBUTING.md": "docs/contributing.md",
}


def architecture() -> str:
    """ARCHITECTURE.md, as of docs/explanation."""
    return _text("ARCHITECTURE.md", "../")


def contributing() -> str:
    """CONTRIBUTING.md, as of docs."""
    return _text("CONTRIBUTING.md", "")


def _text(name: str, docs: str) -> str:
    text = (_ROOT / name).read_text(encoding="utf-8")
    for sister, page in _PAGES.items():
        text = text.replace(f"]({sister}", f"]({page}")
    return text.replace("](docs/", f"]({docs}")
