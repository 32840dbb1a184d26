"""Code switches on the class or the code of an error, never on its text."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

import pytest

from gantt import errors
from tests.tidy.source import sources

# Where others give nothing but text.
ALLOWED = {
    "gantt/store/database/mariadb.py": 1,
    "gantt/store/database/postgresql.py": 1,
}
TESTS = frozenset(
    "startswith endswith find index count match search fullmatch partition "
    "rpartition rfind".split()
)
CAUGHT = frozenset({"error", "exc", "exception", "err", "refusal", "failure"})


def _is_text(node: ast.expr, caught: frozenset[str]) -> bool:
    """Whether ``node`` is what an error says, perhaps in lower case or cut."""
    if isinstance(node, ast.Attribute):
        return node.attr == "message"
    if isinstance(node, ast.JoinedStr):
        return any(
            isinstance(part, ast.FormattedValue)
            and isinstance(part.value, ast.Name)
            and part.value.id in caught
            for part in node.values
        )
    if isinstance(node, ast.Subscript):
        return _is_text(node.value, caught)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
        return any(isinstance(a, ast.Name) and a.id in caught for a in node.args)
    return isinstance(node.func, ast.Attribute) and _is_text(node.func.value, caught)


def compared(nodes: Collection[ast.AST]) -> Iterator[int]:
    """Lines on which the text of an error is compared or searched."""
    caught = CAUGHT | {
        node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name
    }
    for node in nodes:
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in TESTS:
                continue
            parts = [node.func.value, *node.args]
        elif isinstance(node, ast.Match):
            parts = [node.subject]
        else:
            continue
        if any(_is_text(part, caught) for part in parts):
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        "error.message.startswith('x')",
        "'x' in str(error)",
        "str(error).lower().endswith('x')",
        "error.message == other",
        "re.search('x', error.message)",
        "f'{error}' == 'x'",
    ],
)
def test_a_comparison_with_the_text_is_found(line: str) -> None:
    assert list(compared([*ast.walk(ast.parse(line))]))


@pytest.mark.parametrize(
    "line",
    ["error.code == 'x'", "isinstance(error, Invalid)", "error.args[0] in CODES"],
)
def test_codes_and_classes_may_be_compared(line: str) -> None:
    assert not list(compared([*ast.walk(ast.parse(line))]))


def test_no_decision_hangs_on_the_wording_of_an_error() -> None:
    found: dict[str, list[str]] = {}
    for source in sources():
        for line in compared(source.nodes):
            place = source.at(line)
            found.setdefault(place.rpartition(":")[0], []).append(place)
    counts = {path: len(places) for path, places in found.items()}
    assert counts == ALLOWED, found


def test_every_class_has_a_code_of_its_own() -> None:
    kinds = errors.every_kind()
    assert len({kind.code for kind in kinds}) == len(kinds) > 20
    assert all("code" in vars(kind) for kind in kinds)
