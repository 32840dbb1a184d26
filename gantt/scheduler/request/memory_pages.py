"""Memory pages: the size that flavor and image ask for, and locked memory.

Separate from the cells because every cell gets the same size, and sizes have a notation
of their own.
"""

from __future__ import annotations

import re
from typing import Final

from gantt.errors import NeverFits
from gantt.model.spec import RequestSpec
from gantt.model.topology import ANY_PAGES, LARGE_PAGES, SMALL_PAGES
from gantt.scheduler.request import settings

PAGES: Final = "hw:mem_page_size"
LOCKED: Final = "hw:locked_memory"
_NAMED: Final = {"small": SMALL_PAGES, "large": LARGE_PAGES, "any": ANY_PAGES}
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([KMGT])i?B", re.ASCII)
_KIB: Final = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
_MOST_KIB: Final = 2**40


def page_kib(spec: RequestSpec) -> int | None:
    """A size in KiB, one of the names of ``model.topology``, or None: no pages are
    asked for. An image chooses only if the flavor says any or large. Raises
    NeverFits."""
    flavor = spec.flavor.extra_specs.get(PAGES) or None
    image = settings.of_image(spec, PAGES)
    named = settings.property_name(PAGES)
    size = None if flavor is None else parse_size(PAGES, flavor)
    if image in (None, ""):
        return size
    chosen = parse_size(named, str(image))
    if size not in (LARGE_PAGES, ANY_PAGES):
        raise NeverFits(
            f"the image says {named}={image!r}, and the flavor "
            f"{'does not set ' + PAGES if flavor is None else f'{PAGES}={flavor!r}'}: "
            f"an image chooses only if its flavor says {PAGES}=large or any"
        )
    return chosen


def parse_size(key: str, text: str) -> int:
    """``small``, ``large``, ``any``, a number of KiB, or one with a unit (2MB, 1GiB:
    powers of 1024). Raises NeverFits."""
    if text in _NAMED:
        return _NAMED[text]
    size = -1
    if text.isascii() and text.isdigit() and len(text) < 20:
        size = int(text)
    elif found := _SIZE.fullmatch(text):
        whole = float(found[1]) * _KIB[found[2]]
        size = int(whole) if whole.is_integer() else -1
    if not 0 < size <= _MOST_KIB:
        raise NeverFits(
            f"{key}={text!r} is not a page size: give small, large, any, a number of "
            "KiB, or one with a unit, like 2MB or 1GB"
        )
    return size


def check_locked(spec: RequestSpec, size: int | None) -> None:
    """Locked memory needs a page size. Raises NeverFits."""
    if settings.is_on(spec, LOCKED) and size is None:
        raise NeverFits(
            f"{LOCKED} (image: {settings.property_name(LOCKED)}) needs a page size, "
            f"and none is asked for: set {PAGES} in the flavor, or leave it out"
        )
