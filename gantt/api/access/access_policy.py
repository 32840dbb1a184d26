"""The policy rules of Placement and Gantt with their defaults, and their evaluation.

Operators override rules by name in policy.yaml, which oslo.policy reads (``oslo``).
Both engines take the defaults from the one table here; without oslo.policy there is
no policy file, and ``DefaultPolicy`` evaluates the table alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from gantt.api.call import Caller
from gantt.api.wire.placement_part import PLACEMENT
from gantt.model.operations import OPERATIONS

# A rule -> its check in the language of oslo.policy.
Checks: TypeAlias = dict[str, str]

# Rules that others refer to.
BASES: Checks = {
    "admin_api": "role:admin",
    "service_api": "role:service",
    "admin_or_service_api": "role:admin or role:service",
    "project_reader_api": "role:reader and project_id:%(project_id)s",
    "admin_or_project_reader_or_service_api": (
        "role:admin or rule:project_reader_api or role:service"
    ),
}
# Before the new defaults, this was allowed as well.
OLD_DEFAULT = "role:admin"

_ADMIN_OR_SERVICE = "rule:admin_or_service_api"
_OWN_PROJECT_TOO = "rule:admin_or_project_reader_or_service_api"
_HOST_TOO = "role:admin or role:service or role:host"

# Of Gantt's own operations, those that more callers may use.
_WIDER: Checks = {
    # A reader of a project sees its own decisions, redacted.
    "gantt:decisions:list": _OWN_PROJECT_TOO,
    # And finds its own instances, by their names too, without their hosts.
    "gantt:instances:list": _OWN_PROJECT_TOO,
    "gantt:instances:names": _OWN_PROJECT_TOO,
    # A host reports itself, and no other: gantt:reports:any.
    "gantt:reports:create": _HOST_TOO,
    "gantt:needs": _HOST_TOO,
}


def _native() -> Iterator[str]:
    """The rules of Gantt's own operations but these."""
    for one in OPERATIONS:
        for rule in (one.rule, *one.permissions):
            if rule.startswith("gantt:") and rule not in _WIDER:
                yield rule


RULES: Checks = {
    **{one.policy_rule: _ADMIN_OR_SERVICE for one in PLACEMENT if one.rule},
    "placement:usages": _OWN_PROJECT_TOO,
    "placement:reshaper:reshape": "rule:service_api",
    **dict.fromkeys(_native(), _ADMIN_OR_SERVICE),
    **_WIDER,
}
# ``rule:name`` in a check, and how deep they refer to each other at most.
_REFERENCE: Final = re.compile(r"\brule:([\w:]+)")
_DEEP: Final = 3
KNOWN = frozenset((*RULES, *BASES))


def refusal(rule: str) -> str:
    """The text for a caller without the role."""
    return f"Policy does not allow {rule} to be performed."


def expanded(rule: str, checks: Mapping[str, str]) -> str:
    """The check of ``rule`` with those that it refers to."""
    found = checks.get(rule, "")
    for _ in range(_DEEP):
        found = _REFERENCE.sub(lambda one: checks.get(one[1], one[0]), found)
    if " and " in found or "not " in found:
        return found
    sides = found.replace("(", "").replace(")", "").split(" or ")
    return " or ".join(dict.fromkeys(sides))


class DefaultPolicy:
    """The defaults, evaluated without oslo.policy; there are no overrides."""

    def __init__(
        self, *, enforce_scope: bool = True, enforce_new_defaults: bool = True
    ) -> None:
        self._enforce_scope = enforce_scope
        old = "" if enforce_new_defaults else f" or {OLD_DEFAULT}"
        self._old = old
        self._checks = {
            rule: tuple(_alternatives(check + old)) for rule, check in RULES.items()
        }

    def needs(self, rule: str) -> str:
        """See Policy."""
        return expanded(rule, {**BASES, rule: RULES.get(rule, "") + self._old})

    def counts(self) -> dict[str, float]:
        """For metrics: there is no file that could be broken."""
        return {"policy_errors": 0}

    def allows(
        self,
        rule: str,
        caller: Caller,
        target: Mapping[str, str | None],
        *,
        at_once: bool = False,
    ) -> str:
        """Empty when ``caller`` may; otherwise the text of the refusal."""
        del at_once  # nothing is waited for
        if self._enforce_scope and (caller.system_scope or caller.domain_id):
            return rule  # for the wrong scope Placement shows only the rule
        held = {f"role:{role.lower()}" for role in caller.roles}
        project = target.get("project_id", caller.project_id)
        if project is not None and project == caller.project_id:
            held.add("project_id:%(project_id)s")
        return "" if any(map(held.issuperset, self._checks[rule])) else refusal(rule)


def _alternatives(check: str) -> Iterator[tuple[str, ...]]:
    """What must hold together, once for each side of an ``or``."""
    for side in check.split(" or "):
        if side.startswith("rule:"):
            yield from _alternatives(BASES[side.removeprefix("rule:")])
        else:
            yield tuple(side.split(" and "))
