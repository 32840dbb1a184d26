"""Syntax of flavors and requests on a command line.

large                                            a flavor that the configuration names
vcpus=2,memory_mb=4096,disk_gb=20                a flavor
vcpus=2,memory_mb=4096,hw:cpu_policy=dedicated   with an extra spec: it has a colon
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import click
import msgspec

from gantt.errors import Invalid
from gantt.model.bounds import MAX_WHOLE
from gantt.model.forms.spec import read_spec
from gantt.model.spec import Flavor, RequestSpec

Named: TypeAlias = Callable[[], tuple[Flavor, ...]]
AMOUNTS = ("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap")
NAMES = ("name", "flavorid")
ALSO = {"disk_gb": "root_gb", "ram": "memory_mb", "disk": "root_gb"}


def asked_of(named: Named, size: str | None, spec: str) -> RequestSpec:
    """The request for a flavor of that size or name; None: that of the file ``spec``.
    Raises click.UsageError, Invalid."""
    if size is None:
        return spec_of_file(spec)
    (flavor_asked,) = flavors_of(named, [size])
    return RequestSpec(flavor_asked)


def flavors_of(named: Named, texts: Iterable[str]) -> list[Flavor]:
    """Each of ``texts``: a flavor, or the name of one that the configuration of the
    service has, for which alone ``named`` is asked. Raises click.UsageError, also for
    an unknown name."""
    asked = list(texts)
    sizes = {one: flavor(one) for one in asked if "=" in one}
    if len(sizes) == len(set(asked)):
        return [sizes[one] for one in asked]
    known = {str(one.name): one for one in named()}
    for one in asked:
        if one not in sizes and one not in known:
            raise click.UsageError(_unknown(one, list(known)))
    return [sizes.get(one) or known[one] for one in asked]


def _unknown(name: str, names: Sequence[str]) -> str:
    known = (
        f"there are {', '.join(names)}"
        if names
        else "usual_flavors of [gantt] names none, such as "
        "10xname=large,vcpus=4,memory_mb=16384"
    )
    return (
        f"{name!r} is not a flavor of the configuration: {known}. Or write its size: "
        "vcpus=2,memory_mb=4096,disk_gb=20."
    )


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
