"""Whatever the package offers is called by the package: nothing serves tests alone.

A census over the syntax trees. A function or class of a module counts as used where its
module, or one that imports it, names it; a method where its name is read as an
attribute or told as a string anywhere. What a decorator registers is used by that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.tidy.source import ROOT, Source, sources
from tests.wheel.wheels import FOLDERS

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# What only those outside call, on purpose: a pattern of "module:name", and why.
PUBLIC = {
    r"gantt\.client\.scheduler:SchedulerClient\..*": "the seam that README shows",
    r"gantt\.scheduler\.feasibility\.filters\.\w+:\w+": "found by the registry",
    r"gantt\.scheduler\.feasibility\.historical\.\w+:\w+": "found by the registry",
    r"gantt\.scheduler\.scoring\.weighers\.\w+:\w+": "found by the registry",
    r"gantt\.scheduler\.plugins\.nova_\w+:\w+\.\w+": "what Nova's plug-ins call",
    r"gantt\.store\.migrations\.versions\..*:(up|down)grade": "called by alembic",
    r"gantt\.openstack\.rpc\.(methods|scheduler_notifications):\w+\.\w+": "called by "
    "oslo.messaging",
    r"gantt\.stream\.changes\.copy:\w+(\.\w+)?": "for readers of the topic of changes",
    r"gantt\.openstack\.feed\.row_times:UtcTime\.\w+": "called by SQLAlchemy",
    r"gantt\.conf\.unknown_options:\w+\.(new_section|assignment)": "called by "
    "oslo.config",
}
# Decorators that leave a function to be called by its name.
PLAIN = re.compile(
    r"(functools\.)?(cached_property|cache|wraps\(.*)|property|\w+\.setter|overload"
    r"|staticmethod|classmethod|(abc\.)?abstractmethod|(async)?contextmanager"
)
WORDS = re.compile(r"[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*")


class Census:
    """What every module names, by itself and of others."""

    def __init__(self, modules: tuple[Source, ...]) -> None:
        self.modules = {_name(source): source.tree for source in modules}
        self.attributes: set[str] = set()
        self.imported: set[tuple[str, str]] = set(_entry_points())
        for source in modules:
            self.attributes |= set(_read(source.nodes))
            self.imported |= set(_imported(source.nodes))

    def unused(self) -> Iterator[str]:
        """``module:name`` and ``module:Class.name`` of what none of them names."""
        for module, tree in self.modules.items():
            names = [(each, set(_names(each))) for each in tree.body]
            for node in tree.body:
                if not isinstance(node, Definition):
                    continue
                if _is_public(node) and not (
                    (module, node.name) in self.imported
                    or any(node.name in of for each, of in names if each is not node)
                ):
                    yield f"{module}:{node.name}"
                if isinstance(node, ast.ClassDef):
                    yield from (
                        f"{module}:{node.name}.{method.name}"
                        for method in node.body
                        if isinstance(method, Definition)
                        and _is_public(method)
                        and method.name not in self.attributes
                    )


def _name(source: Source) -> str:
    parts = source.path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_public(node: Definition) -> bool:
    registered = any(
        not PLAIN.fullmatch(ast.unparse(one)) for one in node.decorator_list
    )
    return not node.name.startswith("_") and not registered


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value  # an annotation in quotes, or a name in __all__


def _read(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """Attributes that are read, and the words of strings that are names."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and WORDS.fullmatch(str(node.value)):
            yield from re.split(r"[.:]", str(node.value))


def _imported(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[str, str]]:
    """Module and name: of ``from module import name``, and of ``module.name`` after
    ``from package import module`` or importlib's like."""
    bound: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.module, alias.name
    loaded = {
        str(node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and str(node.value).startswith("gantt.")
    }
    for node in nodes:
        if isinstance(node, ast.Attribute):
            yield from ((module, node.attr) for module in loaded)
            if isinstance(node.value, ast.Name) and node.value.id in bound:
                yield bound[node.value.id], node.attr


def _entry_points() -> Iterator[tuple[str, str]]:
    """Functions that the wheels' programs are."""
    for folder in FOLDERS.values():
        text = (folder / "pyproject.toml").read_text()
        yield from re.findall(r'= "(gantt[\w.]*):(\w+)"', text)


def _is_meant(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in PUBLIC)


@cache
def _unused() -> tuple[str, ...]:
    return tuple(Census(sources()).unused())


def test_nothing_serves_tests_alone() -> None:
    unused = [name for name in _unused() if not _is_meant(name)]
    assert unused == []


def test_every_exception_is_still_one() -> None:
    stale = [p for p in PUBLIC if not any(re.fullmatch(p, name) for name in _unused())]
    assert stale == []
