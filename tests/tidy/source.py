"""The package as syntax trees: what every tidy test looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache, cached_property
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

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, as ``ast.walk`` has them."""
        return tuple(ast.walk(self.tree))

    @property
    def line_count(self) -> int:
        """Lines of the file."""
        return len(self.text.splitlines())

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and full name of everything imported, inside functions too."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield node.lineno, f"{node.module}.{alias.name}"

    def at(self, line: int) -> str:
        """``path:line``, for messages."""
        return f"{self.path.relative_to(ROOT)}:{line}"


@cache
def sources() -> tuple[Source, ...]:
    """All modules of the package, each parsed once for all tests of a process."""
    return tuple(Source(path) for path in sorted((ROOT / "gantt").rglob("*.py")))
