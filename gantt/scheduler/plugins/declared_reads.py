"""What a plug-in that declares ``Cacheable`` gets to read: that, and no more.

What drivers keep for it is found again by what it declares. Were it to read anything
else, one request would get what another one was told: so reading it is an error, with
the name of what was read. Apart from ``guards``, which guards calls and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from types import UnionType
from typing import Any, Final, cast, get_args

import msgspec

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Cacheable, Request
from gantt.scheduler.host_columns import NAMES
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Int32s

FACTOR: Final = "factor:"
OF_EACH: Final = frozenset({"instances", "claims", "topology", "rooms", "domains"})
"""What may be needed beside columns and factors."""

# Names and places never change, and metadata of aggregates begin all anew.
_OPEN_HOSTS: Final = frozenset(
    "rows names nodes cells at_hosts counts_on in_any aggregate_values judge".split()
)
_OF_TOPOLOGY: Final = frozenset({"topology", "height"})
_OPEN_TABLE: Final = frozenset("hosts nodes cells uuids row_of rows_of".split())
# What hangs on other hosts, or on what this request put somewhere.
_OPEN_WHOLE: Final = frozenset({"added", "instances_on"})


class Undeclared(Exception):
    """A plug-in read what it did not declare; no AttributeError, which ``getattr``
    with a default would swallow."""


class UndeclaredReads:
    """What was read and not declared, even where the plug-in caught the error."""

    def __init__(self) -> None:
        self.text = ""

    def note(self, what: str, remedy: str) -> Undeclared:
        """The error to raise; the first one stays."""
        text = f"it reads {what}, which it does not declare: {remedy}"
        self.text = self.text or text
        return Undeclared(text)


class _View:
    """An object of which only some attributes may be read."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return self._read(name)


class _HostsView(_View):
    """Hosts have a length, too."""

    __slots__ = ("_size",)

    def __init__(self, read: Callable[[str], Any], size: int) -> None:
        super().__init__(read)
        self._size = size

    def __len__(self) -> int:
        return self._size


# -- requests -------------------------------------------------------------------------


def request_of(
    request: Request, declared: Cacheable, mistakes: UndeclaredReads, *, is_timed: bool
) -> Request:
    """``request`` with the declared fields of its spec, and the time where the plug-in
    says until when."""
    paths = tuple(tuple(path.split(".")) for path in declared.reads)
    spec = _struct(request.spec, "request.spec", paths, mistakes)

    def derived(rule: Callable[..., Any], argument: Hashable) -> Any:
        # Afresh, so that every field that the rule reads is seen.
        return rule(spec, request.options, argument)

    def read(name: str) -> Any:
        if name == "spec":
            return spec
        if name == "derived":
            return derived
        if name == "options" or (name == "now" and is_timed):
            return getattr(request, name)
        raise mistakes.note(
            f"request.{name}",
            "implement lasts, or take elementwise=True out of its Cacheable",
        )

    return cast(Request, _View(read))


def _struct(
    value: msgspec.Struct,
    where: str,
    paths: Iterable[tuple[str, ...]],
    mistakes: UndeclaredReads,
) -> Any:
    fields = {name: [one[1:] for one in paths if one[0] == name] for name, *_ in paths}

    def read(name: str) -> Any:
        deeper = fields.get(name)
        if deeper is None:
            return undeclared(name)
        found = getattr(value, name)
        if isinstance(found, msgspec.Struct) and all(deeper):
            return _struct(found, f"{where}.{name}", deeper, mistakes)
        return found

    def undeclared(name: str) -> Any:
        derived = getattr(type(value), name, None)
        if isinstance(derived, property) and derived.fget is not None:
            return derived.fget(view)
        if callable(derived):
            return derived.__get__(view)
        if name not in value.__struct_fields__:
            raise AttributeError(f"{where} has no {name!r}")
        path = f"{where}.{name}".removeprefix("request.spec.")
        raise mistakes.note(
            f"{where}.{name}", f"add {path!r} to the reads of its Cacheable"
        )

    view = _View(read)
    return view


# -- hosts ----------------------------------------------------------------------------


def hosts_of(hosts: Hosts, declared: Cacheable, mistakes: UndeclaredReads) -> Hosts:
    """``hosts`` with the declared columns and reports, and what never changes."""
    needs = frozenset(declared.needs)
    fleet = _fleet(hosts, needs, mistakes, is_open=not declared.elementwise)

    def read(name: str) -> Any:
        if name in needs or name in _OPEN_HOSTS:
            return getattr(hosts, name)
        if name in NAMES:
            raise mistakes.note(
                f"hosts.{name}", f"add {name!r} to the needs of its Cacheable"
            )
        if name == "fleet":
            return fleet
        if name in ("reported", "column"):
            return reported if name == "reported" else read
        if name == "known_instances":
            _check_of_each("instances", f"hosts.{name}", needs, mistakes)
            return hosts.known_instances
        if name == "left_of":
            _check_of_each("rooms", f"hosts.{name}", needs, mistakes)
            return hosts.left_of
        if name in _OPEN_WHOLE and not declared.elementwise:
            return getattr(hosts, name)
        if not hasattr(type(hosts), name) and name not in hosts.__dict__:
            raise AttributeError(f"'Hosts' has no {name!r}")
        raise mistakes.note(
            f"hosts.{name}", "take its Cacheable out, or elementwise=True of it"
        )

    def reported(*path: str) -> tuple[Int32s, list[Any]]:
        asked = ".".join(path)
        if not any(
            asked == one or asked.startswith(f"{one}.") for one in _factors(needs)
        ):
            raise mistakes.note(
                f"hosts.reported({', '.join(map(repr, path))})",
                f"add {FACTOR + asked!r} to the needs of its Cacheable",
            )
        return hosts.reported(*path)

    return cast(Hosts, _HostsView(read, len(hosts)))


def _factors(needs: Iterable[str]) -> Iterator[str]:
    return (one.removeprefix(FACTOR) for one in needs if one.startswith(FACTOR))


def _check_of_each(
    need: str, what: str, needs: frozenset[str], mistakes: UndeclaredReads
) -> None:
    if need not in needs:
        raise mistakes.note(what, f"add {need!r} to the needs of its Cacheable")


def _fleet(
    hosts: Hosts, needs: frozenset[str], mistakes: UndeclaredReads, *, is_open: bool
) -> Any:
    """The fleet with its aggregates, and the names of its hosts; all of it where
    nothing is kept."""
    if is_open:
        return hosts.fleet
    table = hosts.fleet.hosts

    def of_table(name: str) -> Any:
        if name in _OF_TOPOLOGY:
            _check_of_each("topology", f"hosts.fleet.hosts.{name}", needs, mistakes)
        if name in _OPEN_TABLE or name in _OF_TOPOLOGY:
            return getattr(table, name)
        raise mistakes.note(f"hosts.fleet.hosts.{name}", "read it from hosts")

    def read(name: str) -> Any:
        if name == "hosts":
            return _View(of_table)
        if name in OF_EACH:
            _check_of_each(name, f"hosts.fleet.{name}", needs, mistakes)
        elif name != "aggregates":
            raise mistakes.note(
                f"hosts.fleet.{name}", "take elementwise=True out of its Cacheable"
            )
        return getattr(hosts.fleet, name)

    return _View(read)


# -- what may be declared -------------------------------------------------------------


def unknown(declared: Cacheable) -> str | None:
    """What of a declaration does not exist; None: all of it does."""
    for need in declared.needs:
        if not (need in NAMES or need in OF_EACH or need.startswith(FACTOR)):
            known = ", ".join(sorted(NAMES | OF_EACH))
            return f"needs {need!r}; there is {FACTOR}… and {known}"
    for path in declared.reads:
        name, _, rest = path.partition(".")
        if declared.elementwise and name == "instance_group" and rest not in _KEPT:
            return (
                f"reads {path!r} and is elementwise: what it says is kept, and members "
                "of a group come and go; take elementwise=True out of its Cacheable, "
                f"or read {' or '.join(f'{name}.{one}' for one in _KEPT)}"
            )
        if name not in RequestSpec.__struct_fields__:
            known = ", ".join(RequestSpec.__struct_fields__)
            return f"reads {path!r}; a request has {known}"
        fields = _FIELDS.get(name)
        if rest and fields is not None and rest.partition(".")[0] not in fields:
            return f"reads {path!r}; {name} has {', '.join(fields)}"
    return None


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The struct of a field, or of an optional one."""
    for one in get_args(kind) if isinstance(kind, UnionType) else (kind,):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            yield one


_KEPT: Final = ("policy", "max_server_per_host", "uuid")
"""What a request itself says of its group."""
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    field.name: struct.__struct_fields__
    for field in msgspec.structs.fields(RequestSpec)
    for struct in _structs(field.type)
}
"""Field of a request -> the fields of its struct."""
