"""An extension of Sphinx: pages of the documentation that stand outside of docs.

Each of ``PAGES`` is written to docs/_generated before Sphinx reads the documents that
include it. What is generated from the code is kept in docs/reference: ``committed``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.reference import sisters

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES: Final[dict[str, Callable[[], str]]] = {
    "architecture": sisters.architecture,
    "contributing": sisters.contributing,
}
FOLDER: Final = "_generated"


def write(folder: Path) -> None:
    """Write all pages; one that did not change keeps its time."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        file, text = folder / f"{name}.txt", page()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _write(app: Sphinx) -> None:
    write(Path(app.srcdir) / FOLDER)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
