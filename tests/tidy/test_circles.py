"""No file of the package needs itself: imports between modules form no circle.

What runs when a module is loaded must form none at all. With imports inside functions
and for type checking, which cannot leave a module half loaded, the circles are those
that are listed. An import of ``package.module`` loads ``package`` too, unless the
importer lies in that package and so has it already.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from tests.tidy.source import ROOT, Source, sources

Imported: TypeAlias = "Callable[[list[ast.stmt]], Iterable[str]]"

# Through imports inside functions or for type checking. Cut one, and take it from here.
KNOWN = [
    ["gantt.api.access.oslo", "gantt.api.access.policy"],
]


def _name(source: Source) -> str:
    parts = source.path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _loaded(body: list[ast.stmt]) -> Iterator[str]:
    """Full names of what these statements import, without functions' bodies."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _loaded(node.orelse)
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from _loaded(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _loaded(handler.body)


def _named(body: list[ast.stmt]) -> Iterator[str]:
    """Full names of what these statements import, wherever that stands."""
    for node in ast.walk(ast.Module(body, type_ignores=[])):
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


def _needs(
    trees: Mapping[str, ast.Module], imported_by: Imported
) -> dict[str, set[str]]:
    """Module -> the modules that it needs by these imports."""
    known = frozenset(trees)
    needs: dict[str, set[str]] = {}
    for name, tree in trees.items():
        names = frozenset(imported_by(tree.body))
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
    assert _circles(_needs(trees, _loaded)) == []


def test_imports_in_functions_make_no_circle_but_those_that_are_known() -> None:
    trees = {_name(source): source.tree for source in sources()}
    assert _circles(_needs(trees, _named)) == KNOWN
