"""Rules that oslo.policy reads and then cannot judge: circles and bad templates.

Every part of a rule is judged by itself, for ``and`` and ``or`` would pass over some. A
remote check is not asked: only its URL is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

# What is asked about and the caller, as oslo.policy takes them.
Question: TypeAlias = tuple[dict[str, Any], dict[str, Any]]

_DEFAULT = "default"
_REMOTE = ("http", "https")
_OWN_CHECKS = "oslo_policy._checks"


def unjudgeable(
    names: Sequence[str], enforcer: Any, questions: Sequence[Question]
) -> Iterator[tuple[str, str]]:
    """Those of ``names`` that cannot be judged, each with the reason."""
    checks: Mapping[str, Any] = enforcer.rules
    for name in names:
        for part in _parts(checks[name]):
            if reason := _fault(part, enforcer, name, questions):
                yield name, reason
                break
    if circle := _circle(checks):
        yield (
            next(name for name in circle if name in names),
            f"it refers to itself by way of {' -> '.join(circle)}",
        )


def _parts(check: Any) -> Iterator[Any]:
    """The checks that ``check`` is made of. Not recursive: rules may be deep."""
    waiting = [check]
    while waiting:
        one = waiting.pop()
        if hasattr(one, "rules"):  # and, or
            waiting += one.rules
        elif hasattr(one, "rule"):  # not
            waiting.append(one.rule)
        else:
            yield one


def _circle(checks: Mapping[str, Any]) -> list[str]:
    """Rules that refer to each other in a circle; none is an empty list."""
    graph = {
        name: {
            part.match if part.match in checks else _DEFAULT
            for part in _parts(check)
            if getattr(part, "kind", "") == "rule"
        }
        for name, check in checks.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _fault(part: Any, enforcer: Any, name: str, questions: Sequence[Question]) -> str:
    """Why ``part`` cannot be judged; empty when it can."""
    kind = getattr(part, "kind", "")
    is_own = type(part).__module__ == _OWN_CHECKS
    if kind == "rule" or not (is_own or kind in _REMOTE):
        return ""  # rules are judged themselves, and others' checks may do anything
    for about, credentials in questions:
        try:
            if kind in _REMOTE:
                part.match % about
            else:
                part(about, credentials, enforcer, name)
        except KeyError:
            continue  # something that is known of other requests
        except Exception as error:  # whatever it stumbles over
            return f"{part!s} ({type(error).__name__})"
    return ""
