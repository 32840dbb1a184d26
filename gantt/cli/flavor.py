"""Syntax of flavors and requests on a command line.

vcpus=2,memory_mb=4096,disk_gb=20                a flavor
vcpus=2,memory_mb=4096,hw:cpu_policy=dedicated   with an extra spec: it has a colon
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any

import click
import msgspec

from gantt.errors import Invalid
from gantt.model.bounds import MAX_WHOLE
from gantt.model.forms.spec import read_spec
from gantt.model.spec import Flavor, RequestSpec

AMOUNTS = ("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap")
NAMES = ("name", "flavorid")
ALSO = {"disk_gb": "root_gb", "ram": "memory_mb", "disk": "root_gb"}


def flavor(words: str) -> Flavor:
    """Parse a flavor; without a name of its own, it is named ``words``."""
    fields: dict[str, Any] = {"name": words}
    extra: dict[str, str] = {}
    for word in filter(None, (part.strip() for part in words.split(","))):
        key, separator, value = word.partition("=")
        key = ALSO.get(key, key)
        if separator and ":" in key:
            extra[key] = value
        elif separator and key in AMOUNTS:
            fields[key] = _amount(value, word)
        elif separator and key in NAMES:
            fields[key] = value
        else:
            raise click.UsageError(
                f"{word!r} is not a field of a flavor: write vcpus=2,memory_mb=4096,"
                f"disk_gb=20. Fields are {', '.join((*AMOUNTS, *NAMES))}, and extra "
                "specs such as hw:cpu_policy=dedicated."
            )
    return Flavor(**fields, extra_specs=extra)


def spec_of_file(name: str) -> RequestSpec:
    """Read a request from a JSON file ("-": standard input). Raises Invalid."""
    return read_spec(document(name))


def document(name: str) -> dict[str, Any]:
    """Read a JSON object from a file ("-": standard input). Raises Invalid."""
    try:
        with click.open_file(name, "rb") as file:
            raw = file.read().removeprefix(BOM_UTF8)
        return msgspec.json.decode(raw, type=dict[str, Any])
    except OSError as error:
        raise Invalid(f"{name} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Invalid(f"{name} must hold a JSON object: {error}.") from error


def _amount(text: str, word: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise click.UsageError(f"{word!r}: {text!r} is not a whole number.")
    found = int(text[:20])
    if found > MAX_WHOLE:
        raise click.UsageError(f"{word!r}: the maximum is {MAX_WHOLE}.")
    return found
