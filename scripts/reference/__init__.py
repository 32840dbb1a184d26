"""The parts of docs/reference that are generated, as an extension of Sphinx.

Each page of ``PAGES`` is written to docs/_generated before Sphinx reads the documents
that include it, and is never committed: it says what this very code does. What is short
enough to be read in the repository is committed instead: ``committed``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.reference import (
    commands,
    native,
    placement,
    signatures,
    sisters,
    types,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES: Final[dict[str, Callable[[], str]]] = {
    "architecture": sisters.architecture,
    "commands": commands.page,
    "contributing": sisters.contributing,
    "http": native.page,
    "placement": placement.page,
    "types": types.page,
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
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", _write)
    app.connect("autodoc-process-signature", signatures.process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
