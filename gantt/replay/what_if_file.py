"""The TOML file of a what-if, read strictly: a misspelt key changes no question in
silence, and options are such as a gantt.conf may have.

Entry by entry and key by key, so that each message says where in the file it is about:
a file may be long, and may be written by a program.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from gantt.conf.known_values import check_values
from gantt.errors import Invalid
from gantt.model.bounds import MAX_EXTRA_SPECS, MAX_TEXT, MAX_WHOLE
from gantt.replay.what_if import (
    MOST,
    MOST_RATIO,
    Added,
    AllocationRatio,
    OtherFlavor,
    WhatIf,
    entry_name,
    within,
)

_KINDS: Final[Mapping[str, type[Struct]]] = {
    "add": Added,
    "ratios": AllocationRatio,
    "flavors": OtherFlavor,
}
_HOSTS: Final = ("remove", "drain")
_AMOUNT: Final = f"a whole number from 0 to {MAX_WHOLE}"
_TEXT: Final = f"text in quotes, of at most {MAX_TEXT:,} letters"
ALLOWED: Final[Mapping[str, str]] = {
    "count": f"a whole number from 1 to {MOST:,}",
    "like": "the name of a host",
    "fleet": "a fleet in words, or the name of a JSON file",
    "resource_class": "the name of a resource class",
    "ratio": f"a number above 0, up to {MOST_RATIO:,}",
    "hosts": "a list of names of hosts; leave it out for all hosts",
    "name": "the name of a flavor",
    "extra_specs": f'a table of at most {MAX_EXTRA_SPECS} texts, name = "value"',
    **dict.fromkeys(("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap"), _AMOUNT),
}
"""What each key of an entry must be, in words."""


def read_what_if(path: Path) -> WhatIf:
    """Raises Invalid, with the entry and the key that is wrong."""
    raw = _decoded(path)
    with within(str(path)):
        _expect_keys(raw, (*_KINDS, *_HOSTS, "options"), "")
        found: dict[str, Any] = {
            key: tuple(_entries(key, kind, raw[key]))
            for key, kind in _KINDS.items()
            if key in raw
        }
        found |= {key: tuple(_hosts(key, raw[key])) for key in _HOSTS if key in raw}
        options = raw.get("options", {})
        if not isinstance(options, dict):
            raise Invalid("options must be a table: write [options].")
        check_values(options, "")
        return WhatIf(**found, options=options, where=str(path))


def _decoded(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.toml.decode(
            path.read_bytes().removeprefix(BOM_UTF8)
        )
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise Invalid(f"{path} is not TOML as UTF-8: {error}.") from error
    except RecursionError as error:
        raise Invalid(f"{path} is nested too deeply.") from error
    return found


def _hosts(key: str, given: Any) -> Iterator[str]:
    if not isinstance(given, list):
        raise Invalid(f'{key} must be a list of names of hosts, such as ["host-1"].')
    for number, one in enumerate(given):
        if not isinstance(one, str):
            raise Invalid(f"{key}[{number}] is {one!r}: it must be the name of a host.")
        yield one


def _entries(key: str, kind: type[Struct], given: Any) -> Iterator[Struct]:
    if not isinstance(given, list):
        raise Invalid(f"{key} must be a list of tables: write [[{key}]] for each.")
    names: dict[str, int] = {}
    for number, raw in enumerate(given):
        if not isinstance(raw, dict):
            raise Invalid(f"{key}[{number}] must be a table: write [[{key}]] for it.")
        with within(entry_name(key, number, _title(raw))):
            one = _entry(kind, raw)
            if isinstance(one, Added):
                _check_added(one)
            elif isinstance(one, OtherFlavor):
                first = names.setdefault(one.name, number)
                if first != number:
                    raise Invalid(f"{key}[{first}] has this name too: leave out one.")
        yield one


def _title(raw: dict[str, Any]) -> str:
    """What the entry is called, whatever else is wrong with it."""
    for key in ("name", "resource_class", "like", "fleet"):
        if isinstance(raw.get(key), str):
            return str(raw[key])
    return ""


def _entry(kind: type[Struct], raw: dict[str, Any]) -> Struct:
    known = {one.name: one for one in fields(kind)}
    _expect_keys(raw, known, "it has ")
    for name, one in known.items():
        if name in raw:
            _check_value(name, raw[name], one.type)
        elif one.required:
            raise Invalid(f"it has no {name}, which must be {ALLOWED[name]}.")
    return msgspec.convert(raw, kind)


def _check_value(name: str, value: Any, kind: Any) -> None:
    if name == "extra_specs" and isinstance(value, dict):
        for key, text in value.items():
            _convert(f'{name}["{key}"]', text, str, _TEXT)
    if name == "hosts" and isinstance(value, list):
        for number, host in enumerate(value):
            _convert(f"{name}[{number}]", host, str, "the name of a host")
    _convert(name, value, kind, ALLOWED[name])
    if name == "hosts" and not value:
        raise Invalid(f"{name} is empty: it must be {ALLOWED[name]}.")


def _convert(name: str, value: Any, kind: Any, allowed: str) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Invalid(f"{name} is {value!r}: it must be {allowed}.") from error


def _check_added(one: Added) -> None:
    if bool(one.like) == bool(one.fleet):
        raise Invalid("it must have either like or fleet.")
    if one.fleet and one.count != 1:
        raise Invalid(
            f"count goes with like: of a fleet, write {one.count}x before it."
        )


def _expect_keys(given: Iterable[str], known: Iterable[str], begin: str) -> None:
    if wrong := [key for key in given if key not in known]:
        raise Invalid(
            f"{begin}{', '.join(wrong)}, which is not known: write {', '.join(known)}."
        )
