"""Settings that a flavor and an image may both have: ``hw:x`` and ``hw_x``.

Separate from the meaning of the settings because filters, pre-filters and the shape all
read them, and contradictions must be refused the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gantt.errors import NeverFits
from gantt.model.spec import RequestSpec

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no", ""})


def property_name(key: str) -> str:
    """The image property that goes with an extra spec."""
    return key.replace(":", "_", 1)


def of_image(spec: RequestSpec, key: str) -> Any:
    """The image's value; None: unset."""
    image = spec.image
    return None if image is None else image.properties.get(property_name(key))


def agreed(
    spec: RequestSpec, key: str, allowed: Collection[str] | None = None
) -> str | None:
    """The value of flavor or image, as text; None: unset.

    Raises NeverFits when they differ, or when the value is not ``allowed``.
    """
    flavor = spec.flavor.extra_specs.get(key)
    image = of_image(spec, key)
    if flavor is None and image is None:
        return None
    value = str(image if flavor is None else flavor)
    if flavor is not None and image is not None and value != str(image):
        raise _conflict(key, flavor, image)
    if allowed is not None and value not in allowed:
        raise NeverFits(
            f"{_where(key, flavor)}={value!r} is unknown: give "
            f"{' or '.join(sorted(allowed))}"
        )
    return value


def is_on(spec: RequestSpec, key: str) -> bool:
    """Whether flavor or image switch it on. Raises NeverFits when they differ, or when
    it is neither true nor false."""
    flavor = spec.flavor.extra_specs.get(key)
    image = of_image(spec, key)
    if flavor is None and image is None:
        return False
    says_flavor = None if flavor is None else truth(key, flavor)
    says_image = None if image is None else truth(property_name(key), image)
    if says_flavor is None or says_image is None:
        return bool(says_flavor or says_image)
    if says_flavor != says_image:
        raise _conflict(key, flavor, image)
    return says_flavor


def truth(name: str, value: object) -> bool:
    """A boolean value. Raises NeverFits."""
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text not in _FALSE:
        raise NeverFits(f"{name}={value!r} is neither true nor false: give one of them")
    return False


def _where(key: str, flavor: object) -> str:
    if flavor is None:
        return f"image property {property_name(key)}"
    return f"extra spec {key}"


def _conflict(key: str, flavor: object, image: object) -> NeverFits:
    return NeverFits(
        f"the flavor says {key}={flavor!r}, the image says "
        f"{property_name(key)}={image!r}: let them agree, or only one of them say it"
    )
