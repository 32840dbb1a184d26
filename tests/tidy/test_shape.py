"""The house rules of shape: sizes, names, docstrings, no hidden state, no clock."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import Source, sources

MAX_FILE_LINES = 600
MAX_CLASS_LINES = 250
MAX_FUNCTION_LINES = 60
# The cycle is read top to bottom, without opening another file.
MAX_CYCLE_LINES = 249
MAX_DOCSTRING_LINES = 12
BANNED_NAMES = frozenset({"manager", "utils", "helpers", "common", "base", "misc"})

# A migration is a list of statements in time: as long as it must be.
MIGRATIONS = ("store", "migrations")

MUTABLE_MAKERS = frozenset(
    "list dict set bytearray defaultdict OrderedDict Counter deque Lock RLock "
    "Condition Event Semaphore local ContextVar count".split()
)
MUTATORS = frozenset(
    "append extend insert remove pop popitem clear add discard update setdefault "
    "sort reverse".split()
)
DECIDERS = frozenset({"topology", "state", "placement", "scheduler"})
WORLDLY_MODULES = frozenset(
    {"time", "secrets", "socket", "os", "pathlib", "subprocess", "urllib", "http"}
)
WORLDLY_CALLS = frozenset(
    (
        "datetime.now datetime.utcnow datetime.today date.today uuid.uuid1 "
        "uuid.uuid4 uuid1 uuid4 np.random numpy.random open print input"
    ).split()
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
DISPLAYS = (
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
)


def _docstring_lines(node: ast.Module | ast.ClassDef | Function) -> int:
    text = ast.get_docstring(node, clean=False)
    return len(text.splitlines()) if text else 0


def _code_lines(node: ast.ClassDef | Function) -> int:
    end = node.end_lineno or node.lineno
    return end - node.lineno + 1 - _docstring_lines(node)


def _too_long(source: Source) -> Iterator[str]:
    if source.line_count > MAX_FILE_LINES:
        yield f"{source.at(1)}: {source.line_count} lines: a noun is missing"
    for node in source.nodes:
        if isinstance(node, Function) and source.parts[:2] != MIGRATIONS:
            limit = MAX_FUNCTION_LINES
        elif isinstance(node, ast.ClassDef):
            limit = MAX_CLASS_LINES
        else:
            continue
        if _code_lines(node) > limit:
            yield f"{source.at(node.lineno)}: {node.name} has {_code_lines(node)} lines"


def _called_name(node: ast.expr) -> str:
    """``name`` or ``module.name`` of what is called or read; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _module_values(tree: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    """Every plain name bound at module level: name, value, line."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, value, node.lineno


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _called_name(value.func).rpartition(".")[2] in MUTABLE_MAKERS
    return isinstance(value, DISPLAYS)


def _is_constant_name(name: str) -> bool:
    return name.lstrip("_").isupper() or name.startswith("__")


def _changes_of(tree: ast.Module, names: set[str]) -> Iterator[tuple[str, int]]:
    """Where something bound at module level is changed in place."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            targets = [node.func.value] if node.func.attr in MUTATORS else []
        elif isinstance(node, ast.Assign | ast.Delete):
            targets = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
        elif isinstance(node, ast.AugAssign):
            place: ast.expr = node.target
            targets = [place.value if isinstance(place, ast.Subscript) else place]
        for target in targets:
            if isinstance(target, ast.Name) and target.id in names:
                yield target.id, getattr(node, "lineno", 1)


def _hidden_state(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Global):
            yield f"{source.at(node.lineno)}: global {', '.join(node.names)}"
    constants: set[str] = set()
    for name, value, line in _module_values(source.tree):
        if not _is_mutable(value):
            continue
        if _is_constant_name(name) and isinstance(value, DISPLAYS):
            constants.add(name)
        elif not name.startswith("__"):
            yield f"{source.at(line)}: {name} is mutable and lives in the module"
    for name, line in _changes_of(source.tree, constants):
        yield f"{source.at(line)}: the constant {name} is changed"


def _worldliness(source: Source) -> Iterator[str]:
    for line, module in source.imports():
        if module.partition(".")[0] in WORLDLY_MODULES:
            yield f"{source.at(line)}: a decider imports {module}"
        if module.startswith("random.") and module != "random.Random":
            yield f"{source.at(line)}: a decider imports {module}"
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = _called_name(node.func)
        elif isinstance(node, ast.Attribute):
            name = _called_name(node)
            if name.startswith("random.") and name != "random.Random":
                yield f"{source.at(node.lineno)}: a decider throws dice: {name}"
            name = name if name.endswith(".random") else ""
        else:
            continue
        if name in WORLDLY_CALLS or name in {"Random", "random.Random"}:
            yield f"{source.at(node.lineno)}: a decider calls {name}"


def _docstring_faults(source: Source) -> Iterator[str]:
    lines = _docstring_lines(source.tree)
    if not lines and source.tree.body:
        yield f"{source.at(1)}: what is this module for, and why separate?"
    # A drawing at the top of errors.py is the one long docstring.
    if lines > MAX_DOCSTRING_LINES and source.parts != ("errors",):
        yield f"{source.at(1)}: a docstring of {lines} lines"


def test_the_cycle_is_one_page() -> None:
    (cycle,) = [one for one in sources() if one.parts == ("scheduler", "cycle")]
    assert cycle.line_count <= MAX_CYCLE_LINES


def test_nothing_is_too_long() -> None:
    faults = [fault for source in sources() for fault in _too_long(source)]
    assert not faults, "\n".join(faults)


def test_no_module_has_a_name_that_says_nothing() -> None:
    found = [s.at(1) for s in sources() if BANNED_NAMES & set(s.parts)]
    assert not found, "\n".join(found)


def test_no_module_keeps_state() -> None:
    faults = [fault for source in sources() for fault in _hidden_state(source)]
    assert not faults, "\n".join(faults)


def test_deciders_have_no_clock_no_dice_and_no_input_or_output() -> None:
    faults = [
        fault
        for source in sources()
        if source.floor in DECIDERS
        for fault in _worldliness(source)
    ]
    assert not faults, "\n".join(faults)


def test_every_module_says_what_it_is_for() -> None:
    faults = [fault for source in sources() for fault in _docstring_faults(source)]
    assert not faults, "\n".join(faults)
