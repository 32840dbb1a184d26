"""The parts of docs/reference that are generated, and kept in the repository.

Usage: python -m scripts.reference.committed

Writes each between its marks in a page of docs/reference, so that it can be read there
as well as in what ``make docs`` builds; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scripts.reference import (
    commands,
    fields,
    library,
    metrics,
    native,
    options,
    placement,
    stability,
    types,
)

PARTS: Final[dict[str, Callable[[], str]]] = {
    "commands": lambda: "\n".join(commands.overview()),
    "each-command": commands.page,
    "each-operation": native.page,
    "each-placement-operation": placement.page,
    "fields": fields.page,
    "http": native.overview,
    "metrics": metrics.page,
    "options": options.page,
    "placement-api": placement.overview,
    "preview": stability.preview,
    "types": types.page,
    **library.PAGES,
}
FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"
_PART: Final = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.S)


def renewed(text: str) -> str:
    """The page ``text`` with its generated parts as they are now."""
    return _PART.sub(
        lambda one: f"{one[1]}\n{PARTS[one[2]]().strip()}\n\n{one[3]}", text
    )


def parts_of(text: str) -> list[str]:
    """The names of those that the page has."""
    return [one[2] for one in _PART.finditer(text)]


def main() -> None:
    """Write them."""
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (now := renewed(text)) != text:
            page.write_text(now, encoding="utf-8")
            print(page.name)


if __name__ == "__main__":
    main()
