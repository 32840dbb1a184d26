"""The package as syntax trees: what every tidy test looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Source:
    """One module of Gantt: its path, its text, its tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()

    @property
    def parts(self) -> tuple[str, ...]:
        """The path below ``gantt/``, without the suffix."""
        return self.path.relative_to(ROOT / "gantt").with_suffix("").parts

    @property
    def floor(self) -> str:
        """The package of the house that the module lives in, or its own name."""
        return self.parts[0]

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, str(self.path))

    @property
    def line_count(self) -> int:
        """Lines of the file."""
        return len(self.text.splitlines())

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and full name of everything imported, inside functions too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield node.lineno, f"{node.module}.{alias.name}"

    def at(self, line: int) -> str:
        """``path:line``, for messages."""
        return f"{self.path.relative_to(ROOT)}:{line}"


def sources() -> list[Source]:
    """All modules of the package."""
    return [Source(path) for path in sorted((ROOT / "gantt").rglob("*.py"))]
