"""No file of the package needs itself: imports between modules form no circle.

Imports inside functions and for type checking count too, although they cannot leave a
module half loaded. An import of ``package.module`` loads ``package`` too, unless the
importer lies in that package and so has it already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.tidy.source import ROOT, Source, sources


def _name(source: Source) -> str:
    parts = source.path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(tree: ast.Module) -> Iterator[str]:
    """Full names of what is imported, wherever that stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _modules_of(name: str, known: frozenset[str]) -> Iterator[str]:
    """The modules that loading ``name`` runs: itself, and the packages above."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        module = ".".join(parts[:length])
        if module in known:
            yield module


def _needs(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Module -> the modules that it needs by these imports."""
    known = frozenset(trees)
    needs: dict[str, set[str]] = {}
    for name, tree in trees.items():
        names = frozenset(_named(tree))
        wanted = {
            module for imported in names for module in _modules_of(imported, known)
        }
        # The packages around a module are being loaded before it.
        around = {module for module in wanted if f"{name}.".startswith(f"{module}.")}
        named = {
            imported.rpartition(".")[0] for imported in names if imported not in known
        }
        needs[name] = (wanted - around) | (around & named)
        needs[name].discard(name)
    return needs


def _circles(needs: Mapping[str, set[str]]) -> list[list[str]]:
    """Every group of modules that need each other, in no particular order."""
    reached = {name: _reach(name, needs) for name in needs}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in needs
        if name in reached[name]
    }
    return sorted(list(group) for group in groups)


def _reach(start: str, needs: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = list(needs[start])
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead.extend(needs[name])
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    trees = {_name(source): source.tree for source in sources()}
    assert _circles(_needs(trees)) == []
