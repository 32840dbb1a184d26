"""One name, one meaning: of classes and modules; and docstrings that stand alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.tidy.source import ROOT, Source, sources

# Class names that two modules have, and why neither is called otherwise.
SHARED_CLASSES = {
    "Invalid": "openstack.rpc.faults has Nova's name, which callers know it by",
    "NoValidHost": "openstack.rpc.faults has Nova's name, which callers know it by",
    "Refused": "an error of the library, and a component of the OpenAPI document",
    "Report": "two components of the OpenAPI document, which names them by module",
}
# Folders of modules that are named after what they serve, and found by it.
FAMILIES = {
    "agent/collectors": "a collector each, named after the aspect",
    "api/handlers": "Placement's nouns, as its URLs have them",
    "api/native": "Gantt's operations, as their URLs have them",
    "cli": "a command each",
    "model/forms": "named after the values that the forms become",
    "scheduler/feasibility/filters": "a filter each, named after the class",
    "scheduler/feasibility/historical": "a filter each, named after the class",
    "scheduler/request/prefilters": "a pre-filter each",
    "scheduler/scoring/weighers": "a weigher each, named after the class",
    "store/migrations/versions": "a step each",
}
# Names that several modules have beside those, and why.
SHARED_MODULES = {
    "contract": "what a plug-in implements, one for each kind of plug-in",
    "hosts": "import paths that are public: values, and what plug-ins read",
    "options": "the frozen options of a room, one for each room",
}
# A module is a noun. These end like a verb or a participle, and are nouns of the field.
NOUNS = frozenset(
    "booking feed holding listing mapping packing paging pinning ranking ring "
    "scheduling spelling tracing".split()
)
# Import paths that are public.
PUBLIC = frozenset({"launch/launching", "launch/simulated", "model/watching"})

# Docstrings that need another one first begin so.
LEANING = re.compile(r"(As|Of|Likewise|The same)\b")


def _public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(source.at(node.lineno))
    return found


def _modules() -> Iterator[Source]:
    return (one for one in sources() if one.parts[-1] not in {"__init__", "__main__"})


def _is_of_family(source: Source) -> bool:
    return "/".join(source.parts[:-1]) in FAMILIES


def test_a_public_class_name_has_one_meaning() -> None:
    repeated = {name: at for name, at in _public_classes().items() if len(at) > 1}
    assert {
        name: at for name, at in repeated.items() if name not in SHARED_CLASSES
    } == {}
    assert SHARED_CLASSES.keys() - repeated.keys() == set()


def test_a_module_name_has_one_meaning() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for source in _modules():
        if not _is_of_family(source):
            found[source.parts[-1]].append("/".join(source.parts))
    repeated = {name: at for name, at in found.items() if len(at) > 1}
    assert {
        name: at for name, at in repeated.items() if name not in SHARED_MODULES
    } == {}
    assert SHARED_MODULES.keys() - repeated.keys() == set()


def test_families_of_modules_are_there() -> None:
    there = {"/".join(source.parts[:-1]) for source in _modules()}
    assert FAMILIES.keys() - there == set()


def test_a_module_is_a_noun() -> None:
    verbs = [
        path
        for path in ("/".join(source.parts) for source in _modules())
        if re.search(r"(ing|ed)$", path)
        and not path.startswith("store/migrations/versions/")
        and re.split(r"[/_]", path)[-1] not in NOUNS
        and path not in PUBLIC
    ]
    assert verbs == []


def test_docstrings_stand_alone() -> None:
    """Not "As Group." or "Of the line that was read last."."""
    leaning = [
        f"{source.at(node.lineno)}: {text.splitlines()[0]}"
        for source in sources()
        for node in source.nodes
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and LEANING.match(text)
    ]
    assert leaning == []


def _elements(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return node.args
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []


def test_no_tuple_is_unpacked_where_it_is_written() -> None:
    """``f(*(a, b), c)`` says no more than ``f(a, b, c)``."""
    folders = ("gantt", "tests", "bench", "scripts", "nova-plugin")
    starred = [
        f"{path.relative_to(ROOT)}:{one.lineno}"
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for one in _elements(node)
        if isinstance(one, ast.Starred) and isinstance(one.value, ast.Tuple | ast.List)
    ]
    assert starred == []
