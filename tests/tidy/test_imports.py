"""Who may import whom: the floors of the house, and where each library is at home."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.tidy.source import ROOT, Source, sources

DECIDERS = frozenset({"errors", "model", "topology", "state", "placement"})
LIBRARY = DECIDERS | {"scheduler", "store", "engine"}

# Floor -> the floors below it that it may see. The doors at the end see the engine and
# what lies under it, but not each other; the command line starts the other doors.
BELOW: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "model": frozenset({"errors"}),
    "topology": frozenset({"errors", "model"}),
    "state": frozenset({"errors", "model", "topology"}),
    "placement": frozenset({"errors", "model", "topology", "state"}),
    "scheduler": DECIDERS,
    "store": frozenset({"errors", "model"}),
    "engine": LIBRARY - {"engine"},
    "connection": LIBRARY | {"client"},
    "__init__": LIBRARY | {"client", "conf", "connection"},
    "liveness": LIBRARY,
    "stream": LIBRARY,
    "conf": LIBRARY | {"liveness", "stream"},
    "client": LIBRARY,
    "agent": LIBRARY | {"client", "connection"},
    "launch": LIBRARY,
    "observe": LIBRARY | {"conf"},
    "api": LIBRARY | {"conf", "connection", "liveness", "observe", "stream"},
    "openstack": LIBRARY
    | {"conf", "connection", "client", "liveness", "observe", "stream"},
    "sim": LIBRARY,
    "testing": LIBRARY,
    "replay": LIBRARY | {"conf"},
    "bench": LIBRARY
    | {"conf", "connection", "client", "liveness", "observe", "stream", "api"}
    | {"replay"},
    "wsgi": LIBRARY | {"conf", "connection", "liveness", "observe", "stream", "api"},
    "__main__": frozenset({"cli"}),
    "cli": LIBRARY
    | {"conf", "connection", "client", "agent", "launch", "liveness", "observe"}
    | {"api", "stream", "replay", "bench"}
    | {"openstack"},
}

# Library -> the floors where it is at home.
HOMES: dict[str, frozenset[str]] = {
    "numpy": frozenset({"state", "placement", "scheduler", "replay", "testing"}),
    "sqlalchemy": frozenset({"store", "openstack"}),
    "alembic": frozenset({"store"}),
    "granian": frozenset({"api"}),
    "click": frozenset({"cli"}),
    "rich": frozenset({"cli"}),
    "oslo": frozenset({"conf", "api", "openstack", "observe"}),
    "keystone": frozenset({"conf"}),
    "tooz": frozenset({"liveness"}),
    "confluent_kafka": frozenset({"stream"}),
    "opentelemetry": frozenset({"observe"}),
}

IMPORTED_WITH_GANTT = frozenset({"gantt", "numpy", "msgspec", "sqlalchemy"})
# What SQLAlchemy and msgspec bring along themselves.
BROUGHT_ALONG = frozenset({"typing_extensions", "greenlet"})

LOADED = """
import sys
before = set(sys.modules)
import gantt
names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(names - set(sys.stdlib_module_names)))
"""


def _home(module: str) -> str | None:
    top = module.partition(".")[0]
    for library in HOMES:
        is_family = library in {"oslo", "keystone"} and top.startswith(library)
        if top == library or is_family:
            return library
    return None


def _gantt_floor(module: str) -> str | None:
    top, _, rest = module.partition(".")
    if top != "gantt":
        return None
    return rest.partition(".")[0] or "__init__"


def _breaches(source: Source) -> list[str]:
    allowed = BELOW.get(source.floor, frozenset()) | {source.floor}
    found = []
    for line, module in source.imports():
        floor = _gantt_floor(module)
        if floor is not None and floor in BELOW and floor not in allowed:
            found.append(f"{source.at(line)}: {source.floor} must not see {floor}")
        library = _home(module)
        if library is not None and source.floor not in HOMES[library]:
            found.append(f"{source.at(line)}: {library} is not for {source.floor}")
    return found


def test_every_floor_is_known() -> None:
    unknown = {source.floor for source in sources()} - BELOW.keys()
    assert not unknown, f"say in BELOW what these may import: {sorted(unknown)}"


def test_the_tables_name_no_floor_and_no_library_without_code() -> None:
    found = list(sources())
    assert BELOW.keys() - {source.floor for source in found} == set()
    used: dict[str, set[str]] = {library: set() for library in HOMES}
    for source in found:
        for _, module in source.imports():
            if (library := _home(module)) is not None:
                used[library].add(source.floor)
    unused = {
        name: HOMES[name] - used[name] for name in HOMES if HOMES[name] - used[name]
    }
    assert unused == {}


def test_every_extra_has_code_that_names_it() -> None:
    """Drivers and middleware are loaded by name, so the text is searched."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = "\n".join(source.text for source in sources())
    idle = [
        f"{extra}: {requirement}"
        for extra, requirements in project["optional-dependencies"].items()
        for requirement in requirements
        # "all" names the others.
        if extra not in {"all", "dev"}
        and not re.search(rf"\b{_module_of(requirement)}\b", text)
    ]
    assert idle == []


def _module_of(requirement: str) -> str:
    """A pattern of its module, which may be one of a package that others share."""
    name = re.split(r"[\[<>=~! ]", requirement)[0]
    return re.sub(r"[.-]", "[._]", name.lower().removesuffix("-python"))


def test_the_table_of_floors_has_no_circle() -> None:
    settled: set[str] = set()
    while len(settled) < len(BELOW):
        ready = {floor for floor, below in BELOW.items() if below <= settled} - settled
        assert ready, f"a circle among {sorted(BELOW.keys() - settled)}"
        settled |= ready


def test_store_and_state_never_meet() -> None:
    assert "store" not in BELOW["state"] | BELOW["placement"] | BELOW["scheduler"]
    assert not BELOW["store"] & {"state", "placement", "scheduler"}


def test_imports_only_point_down() -> None:
    breaches = [breach for source in sources() for breach in _breaches(source)]
    assert not breaches, "\n".join(breaches)


def test_importing_gantt_loads_only_what_the_library_needs() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = set(answer.stdout.split())
    assert loaded - BROUGHT_ALONG <= IMPORTED_WITH_GANTT
    assert "gantt" in loaded
