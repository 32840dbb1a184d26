"""Negotiates the microversion of a request, before its route is known.

``openstack-api-version: placement 1.N``; absent means 1.0.
"""

from __future__ import annotations

from gantt.api.wire.problem import Problem

SERVICE = "placement"
HEADER = "openstack-api-version"
MIN_MINOR = 0
MAX_MINOR = 39
MIN_VERSION = f"1.{MIN_MINOR}"
MAX_VERSION = f"1.{MAX_MINOR}"

# The usual headers, which cost one look-up.
_USUAL: dict[str | None, int] = {
    None: MIN_MINOR,
    f"{SERVICE} latest": MAX_MINOR,
    **{f"{SERVICE} 1.{minor}": minor for minor in range(MAX_MINOR + 1)},
}

# The header of the answer, by minor version.
ANSWERS = tuple(f"{SERVICE} 1.{minor}" for minor in range(MAX_MINOR + 1))


def negotiate(header: str | None) -> int:
    """The N of 1.N. Raises Problem 400 (malformed) or 406 (unsupported)."""
    minor = _USUAL.get(header)
    if minor is not None:
        return minor
    text = _of_our_service(header or "")
    if text is None:
        return MIN_MINOR
    if text == "latest":
        return MAX_MINOR
    major, minor = _parse(text)
    if major == 1 and MIN_MINOR <= minor <= MAX_MINOR:
        return minor
    raise Problem(
        406,
        f"Invalid microversion: Unacceptable version header: {text}",
        extra={"max_version": MAX_VERSION, "min_version": MIN_VERSION},
    )


def is_asked(header: str | None) -> bool:
    """Whether ``header`` names a version of this service."""
    return header is not None and _of_our_service(header) is not None


def _of_our_service(header: str) -> str | None:
    """The version in the last entry that names our service."""
    for entry in reversed(header.split(",")):
        words = entry.strip().split(None, 1)
        if len(words) == 2 and words[0].lower() == SERVICE:
            return words[1].strip()
    return None


def _parse(text: str) -> tuple[int, int]:
    halves = text.split(".", 1)
    try:
        major = int(halves[0])
        if len(halves) == 1:
            # Placement shows this reason, so it is part of the wire contract.
            raise ValueError(
                "Version.__new__() missing 1 required positional argument: 'minor'"
            )
        return major, int(halves[1])
    except ValueError as reason:
        raise Problem(
            400, f"Invalid microversion: invalid version string: {text}; {reason}"
        ) from None
