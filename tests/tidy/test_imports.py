"""Who may import whom: the floors of the house, and where each library is at home."""

from __future__ import annotations

import re
import sys
import tomllib

from tests.programs import printed
from tests.tidy.source import ROOT, Source, sources
from tests.wheel.wheels import modules_of

DECIDERS = frozenset({"errors", "model", "topology", "state", "placement"})
# What a program that starts an engine, or a part of one, composes.
PROGRAM = frozenset({"conf", "liveness", "observe", "stream"})
VALUES = frozenset({"errors", "model"})

# Floor -> the floors below it that it sees, and no others. The doors at the end see the
# engine and what lies under it, but not each other; the command line starts the other
# doors.
BELOW: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "version": frozenset(),
    "model": frozenset({"errors"}),
    "topology": VALUES,
    "state": VALUES | {"topology"},
    "placement": VALUES | {"topology", "state"},
    "scheduler": DECIDERS,
    "store": VALUES,
    "engine": DECIDERS | {"version", "scheduler", "store"},
    "connection": VALUES | {"client", "engine", "store"},
    "__init__": frozenset(
        {"version", "model", "client", "conf", "connection", "engine"}
    ),
    "liveness": VALUES | {"engine", "placement"},
    "stream": VALUES | {"engine"},
    "conf": VALUES | {"scheduler", "store", "engine", "liveness", "stream"},
    "client": VALUES | {"store", "engine"},
    "agent": VALUES,
    "launch": VALUES,
    "observe": VALUES | {"version", "state", "engine", "conf"},
    "api": VALUES | PROGRAM | {"state", "placement", "engine", "connection"},
    "openstack": VALUES
    | PROGRAM
    | {"scheduler", "store", "engine", "connection", "client"},
    "testing": VALUES | {"state", "placement", "scheduler", "engine"},
    "replay": DECIDERS | {"scheduler", "store", "engine", "conf"},
    "bench": VALUES
    | {"version", "state", "scheduler", "store", "engine", "connection"}
    | {"conf", "api", "replay"},
    "wsgi": PROGRAM | {"api"},
    "__main__": frozenset({"cli"}),
    "cli": VALUES
    | PROGRAM
    | {"version", "topology", "scheduler", "store", "engine", "connection", "client"}
    | {"agent", "launch", "api", "openstack", "replay", "bench"},
}
# Where modules of gantt-agent name what is in gantt-scheduler: for type checking, or in
# a function that refuses where it is not installed.
LEAVING = {
    "__init__": frozenset({"conf", "engine"}),
    "cli/agent": frozenset({"conf"}),
    "cli/command_traces": frozenset({"conf", "observe"}),
    "client/scheduler": frozenset({"engine", "store"}),
    "connection": frozenset({"engine", "store"}),
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
    "keystone": frozenset({"client", "conf"}),
    "tooz": frozenset({"liveness"}),
    "confluent_kafka": frozenset({"stream"}),
    "opentelemetry": frozenset({"observe"}),
}

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
        # "all" names the others, and "lab" a wheel of Gantt.
        if extra not in {"all", "dev", "lab"}
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


def test_every_floor_sees_all_that_the_table_lets_it_see() -> None:
    used: dict[str, set[str]] = {floor: set() for floor in BELOW}
    for source in sources():
        floors = {_gantt_floor(module) for _, module in source.imports()}
        used[source.floor] |= {one for one in floors if one} - {source.floor}
    unused = {floor: below - used[floor] for floor, below in BELOW.items()}
    assert {floor: sorted(idle) for floor, idle in unused.items() if idle} == {}


def test_the_agents_wheel_sees_itself_alone() -> None:
    """Imports for type checking are no exception."""
    own = [source for source in sources() if source.path in modules_of("gantt-agent")]
    names = {".".join(("gantt", *source.parts)) for source in own}
    names |= {name.removesuffix(".__init__") for name in names}
    leaving: dict[str, set[str]] = {}
    for source in own:
        for _, module in source.imports():
            if module.startswith("gantt.") and not (
                module in names or module.rpartition(".")[0] in names - {"gantt"}
            ):
                below = module.split(".")[1]
                leaving.setdefault("/".join(source.parts), set()).add(below)
    assert leaving == LEAVING


def test_importing_gantt_loads_no_other_library() -> None:
    """Its names are loaded by those who use them."""
    answer = printed([sys.executable, "-c", LOADED])
    assert answer.split() == ["gantt"]
