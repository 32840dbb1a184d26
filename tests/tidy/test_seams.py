"""How parts are put together: no towers of classes, no untyped seams."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import Source, sources

COMPOSED = frozenset({"engine", "scheduler"})
MOST_ANCESTORS = 1
# What a door calls the engine that it was given.
ENGINE_NAMES = frozenset({"gantt", "engine", "books"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


def _name(base: ast.expr) -> str:
    """The name of a base class, without its module and type arguments."""
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def _is_contract(source: Source, node: ast.ClassDef) -> bool:
    """Whether it states what a class must do; errors are told apart by descent."""
    bases = {_name(base) for base in node.bases}
    is_stated = "contract" in source.parts or not bases.isdisjoint({"Protocol", "ABC"})
    return is_stated or source.parts == ("errors",)


def _classes() -> dict[str, tuple[Source, ast.ClassDef]]:
    """Every class of the composed packages by name, without contracts."""
    return {
        node.name: (source, node)
        for source in sources()
        if source.floor in COMPOSED
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and not _is_contract(source, node)
    }


def _ancestors(name: str, classes: dict[str, tuple[Source, ast.ClassDef]]) -> set[str]:
    found: set[str] = set()
    for base in classes[name][1].bases:
        if (parent := _name(base)) in classes:
            found |= {parent, *_ancestors(parent, classes)}
    return found


def _is_any(node: ast.expr | None) -> bool:
    return node is not None and any(
        isinstance(each, ast.Name) and each.id == "Any" for each in ast.walk(node)
    )


def _untyped(source: Source) -> Iterator[str]:
    """Public functions and methods with ``Any`` among what they take or answer."""
    for owner in (source.tree, *source.tree.body):
        if isinstance(owner, ast.ClassDef) and owner.name.startswith("_"):
            continue
        for node in getattr(owner, "body", []):
            if not isinstance(node, Function) or node.name.startswith("_"):
                continue
            taken = node.args
            each = (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)
            rest = (one for one in (taken.vararg, taken.kwarg) if one is not None)
            hints = [one.annotation for one in (*each, *rest)]
            if any(map(_is_any, (*hints, node.returns))):
                yield f"{source.at(node.lineno)}: {node.name} takes or answers Any"


def test_what_is_composed_has_no_tower_of_ancestors() -> None:
    classes = _classes()
    towers = [
        f"{source.at(node.lineno)}: {name} descends from {', '.join(sorted(found))}"
        for name, (source, node) in classes.items()
        if len(found := _ancestors(name, classes)) > MOST_ANCESTORS
    ]
    assert not towers, "\n".join(towers)


def test_no_public_method_of_the_engine_is_untyped() -> None:
    faults = [
        fault
        for source in sources()
        if source.floor == "engine"
        for fault in _untyped(source)
    ]
    assert not faults, "\n".join(faults)


def test_every_door_gets_a_typed_engine() -> None:
    faults = [
        f"{source.at(node.lineno)}: the engine is Any"
        for source in sources()
        for node in source.nodes
        if (isinstance(node, ast.arg) and node.arg in ENGINE_NAMES)
        or (isinstance(node, ast.AnnAssign) and _name(node.target) in ENGINE_NAMES)
        if _is_any(node.annotation)
    ]
    assert not faults, "\n".join(faults)
