"""Fleets as text: ``5000xvcpus=64,memory_mb=262144,zone=a``, or a JSON file.

A JSON file holds a list of machines, as ``Machine`` has them; inventories are objects,
or bare totals.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from gantt.errors import Invalid
from gantt.model.answers import Inventory
from gantt.replay.machines import Machine

_MOST: Final = 1_000_000
_COUNTED: Final = re.compile(r"(\d{1,7})x(.*)\Z", re.ASCII)
_FORM: Final = "COUNTxvcpus=N,memory_mb=N,disk_gb=N"
_FILE: Final = (
    'It must hold a list of machines such as {"name": "host-1", "inventories": '
    '{"VCPU": 64, "MEMORY_MB": 262144}}'
)
_CLASSES: Final = {"vcpus": "VCPU", "memory_mb": "MEMORY_MB", "disk_gb": "DISK_GB"}
_RATIOS: Final = {
    "cpu_ratio": "VCPU",
    "ram_ratio": "MEMORY_MB",
    "disk_ratio": "DISK_GB",
}


def fleet_of(words: Iterable[str]) -> tuple[Machine, ...]:
    """All machines of all ``words``, each a text as above or the name of a file. Raises
    Invalid."""
    found: list[Machine] = []
    for word in words:
        if _COUNTED.match(word):
            found += _counted(word, len(found))
        else:
            found += read_fleet(Path(word))
    if len(found) > _MOST:
        raise Invalid(f"A fleet has at most {_MOST:,} machines; this: {len(found):,}.")
    names: set[str] = set()
    for number, one in enumerate(found):
        if one.name in names:
            raise Invalid(
                f"Machine {number + 1:,} of the fleet is called {one.name!r}, as is "
                "one before it; give each a name of its own."
            )
        names.add(one.name)
    return tuple(found)


def _counted(word: str, before: int) -> list[Machine]:
    match = _COUNTED.match(word)
    assert match is not None, "the caller looked"
    count, text = int(match[1]), match[2]
    if count > _MOST:
        raise Invalid(f"{word!r}: a fleet has at most {_MOST:,} machines.")
    amounts: dict[str, int] = {}
    ratios: dict[str, float] = {}
    zone = None
    traits: list[str] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        key, _, value = part.partition("=")
        if key == "zone" and value:
            zone = value
        elif key == "trait" and value:
            traits.append(value)
        elif key in _RATIOS:
            ratios[_RATIOS[key]] = _number(word, part, value)
        elif key in _CLASSES or key.isupper():
            amounts[_CLASSES.get(key, key)] = int(_number(word, part, value))
        else:
            raise Invalid(
                f"{word!r}: {part!r} is not known; write {_FORM}, other resource "
                "classes in capitals, zone=, trait=, cpu_ratio=, ram_ratio=, "
                "disk_ratio=."
            )
    inventories = {
        name: Inventory(total, allocation_ratio=ratios.get(name, 1.0))
        for name, total in amounts.items()
    }
    return [
        Machine(f"host-{before + number}", inventories, tuple(traits), zone)
        for number in range(1, count + 1)
    ]


def _number(word: str, part: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found <= 2**31 - 1:
        raise Invalid(f"{word!r}: {part!r} needs a number above 0, up to 2147483647.")
    return found


def read_fleet(path: Path) -> tuple[Machine, ...]:
    """The machines of a JSON file. Raises Invalid."""
    try:
        raw = msgspec.json.decode(
            path.read_bytes().removeprefix(BOM_UTF8), type=list[dict[str, Any]]
        )
        return tuple(_machine(path, number, one) for number, one in enumerate(raw))
    except OSError as error:
        raise Invalid(
            f"{str(path)!r} is no fleet in words, and no file that can be read "
            f"({error.strerror}): write {_FORM}, such as "
            "5000xvcpus=64,memory_mb=262144, or name a JSON file with a list of "
            "machines."
        ) from error
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{path}: {error}. {_FILE}.") from error


def _machine(path: Path, number: int, raw: dict[str, Any]) -> Machine:
    """Raises Invalid, which names the machine, and of amounts the class."""
    place = f"{path}: [{number}] {raw.get('name', '')!r}"
    try:
        whole = _whole(raw, place)
        return msgspec.convert(whole, Machine)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{place}: {error}. {_FILE}.") from error


def _whole(machine: dict[str, Any], place: str) -> dict[str, Any]:
    """With bare totals written out. Raises Invalid."""
    found = dict(machine)
    if isinstance(inventories := found.get("inventories"), dict):
        found["inventories"] = {
            name: _stock(name, one, place) for name, one in inventories.items()
        }
    if "parts" in found:
        found["parts"] = [_whole(part, place) for part in found["parts"]]
    return found


def _stock(name: str, amounts: Any, place: str) -> Inventory:
    whole = {"total": amounts} if isinstance(amounts, int) else amounts
    try:
        return msgspec.convert(whole, Inventory)
    except msgspec.ValidationError as error:
        raise Invalid(
            f'{place}: inventories["{name}"] is {amounts!r}: {error}. Write a total, '
            "or an object with one."
        ) from error
