"""Policy by oslo.policy: the defaults, and the operator's policy files above them.

A question costs oslo.policy some 50 µs, so answers are cached for a second, which is
also how long a changed file may take to apply. A changed file that is broken leaves the
last good one in force; faults that oslo.policy would find only while it answers a
request are found when the files are read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

from gantt.api.access.access_policy import (
    BASES,
    KNOWN,
    OLD_DEFAULT,
    RULES,
    expanded,
    refusal,
)
from gantt.api.access.live_files import Live, Stamp
from gantt.api.access.policy_files import PolicyFiles, misspelt
from gantt.api.call import Caller
from gantt.engine.reading.reader import WouldWait
from gantt.errors import Refused
from gantt.model.operations import OPERATIONS

LOG = logging.getLogger(__name__)

# The target and the credentials, as oslo.policy takes them.
Question: TypeAlias = tuple[dict[str, Any], dict[str, Any]]

REMEMBER_S = 1.0
REMEMBER_ANSWERS = 4096
SCOPE = "project"
DEPRECATION = "The new defaults know the roles admin, service and reader."
DEPRECATED_SINCE = "Wallaby"

_DEFAULT = "default"
_REMOTE = ("http", "https")
_OWN_CHECKS = "oslo_policy._checks"


class OsloPolicy:
    """The defaults and the operator's policy files, evaluated by oslo.policy."""

    def __init__(self, conf: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises Refused when a policy file cannot be used."""
        from oslo_policy import opts, policy

        opts.set_defaults(conf, "policy.yaml")
        self._conf = conf
        self._files = PolicyFiles(conf)
        self._wrong_scope = policy.InvalidScope
        self._denied = policy.PolicyNotAuthorized
        self._clock = clock
        self._answers: dict[Any, str] = {}
        self._fresh_until = 0.0
        self._good: Stamp = ()
        self._reported: set[str] = set()
        self._live = Live("policy", self._files.stamp, self._read)
        for path in self._files.paths():
            LOG.info("Policy file: %s", path)

    def needs(self, rule: str) -> str:
        """See Policy."""
        rules = self._live.value.rules
        return expanded(rule, {name: str(check) for name, check in rules.items()})

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {"policy_errors": self._live.errors}

    def allows(
        self,
        rule: str,
        caller: Caller,
        target: Mapping[str, str | None],
        *,
        at_once: bool = False,
    ) -> str:
        """Empty when ``caller`` may; otherwise the text of the refusal. With
        ``at_once`` only a cached answer: raises WouldWait if there is none."""
        key = (rule, caller, *target.values())
        now = self._clock()
        if now >= self._fresh_until or len(self._answers) >= REMEMBER_ANSWERS:
            if at_once:
                raise WouldWait
            self._live.look()
            self._answers = {}
            self._fresh_until = now + REMEMBER_S
        answers = self._answers
        answer = answers.get(key)
        if answer is None:
            if at_once:
                raise WouldWait
            answer = answers[key] = self._ask(rule, caller, target)
        return answer

    def _read(self, stamp: Stamp) -> Any:
        """An enforcer for the files as they are now. Raises Refused."""
        self._refuse_lost(self._good, stamp)
        enforcer = self._loaded()
        self._good = stamp
        self._reported = set()
        return enforcer

    @staticmethod
    def _refuse_lost(before: Stamp, now: Stamp) -> None:
        """A file that disappeared or became empty is more likely a half-made change
        than a wish to do without it. Raises Refused."""
        sizes = {one[0]: one[2] for one in now if isinstance(one, tuple)}
        for one in before:
            if isinstance(one, tuple) and one[2] and not sizes.get(one[0]):
                what = "is empty now" if one[0] in sizes else "is gone"
                raise Refused(
                    f"The policy file {one[0]} {what}: restore it, or restart to "
                    "run without it."
                )

    def _loaded(self) -> Any:
        """An enforcer with the rules of the files. oslo.policy must not read them: it
        would block on a named pipe. Raises Refused."""
        read = self._files.rules()
        enforcer = build_enforcer(self._conf)
        try:
            take_over(enforcer, read.rules)
            faults = list(unusable(tuple(read.rules), enforcer, TRIALS))
        except Exception as error:  # oslo.policy raises many types
            raise Refused(
                f"The policy files cannot be used ({type(error).__name__})."
            ) from None
        for name, reason in faults:
            raise Refused(
                f"The policy file {read.place(name)}: the rule of {name!r} cannot be "
                f"evaluated: {reason}. Correct it."
            )
        for text in misspelt(read.rules, KNOWN):
            LOG.warning("%s", text)
        return enforcer

    def _ask(self, rule: str, caller: Caller, target: Mapping[str, str | None]) -> str:
        about, credentials = question(caller, target)
        try:
            self._live.value.authorize(rule, about, credentials, do_raise=True)
        except self._wrong_scope:
            return rule
        except self._denied:
            return refusal(rule)
        except Exception as error:  # such as a remote check without an answer
            if rule not in self._reported:
                self._reported.add(rule)
                LOG.error(
                    "The policy rule %r cannot be evaluated (%s), so what it guards is "
                    "refused. Correct the rule, or the service that it asks.",
                    rule,
                    type(error).__name__,
                )
            return refusal(rule)
        return ""


def question(caller: Caller, target: Mapping[str, str | None]) -> Question:
    """The target and the credentials, as oslo.policy takes them."""
    about = {"project_id": caller.project_id, "user_id": caller.user_id, **target}
    credentials = {
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "roles": list(caller.roles),
        "system_scope": caller.system_scope,
        "system": caller.system_scope,
        "domain_id": caller.domain_id,
    }
    return about, credentials


# A check that can be evaluated for a caller with no attributes, and for one with all of
# them, can be evaluated for every caller.
TRIALS = (
    question(Caller(), {}),
    question(Caller("u", "p", ("r",), "all", "d"), {}),
)


def take_over(enforcer: Any, overrides: dict[str, Any]) -> None:
    """Give ``enforcer`` the rules, without letting it read a file."""
    from oslo_policy import policy

    rules = policy.Rules.from_dict(overrides, enforcer.default_rule)
    is_new = enforcer.conf.oslo_policy.enforce_new_defaults
    for name, default in enforcer.registered_rules.items():
        old = None if is_new else default.deprecated_rule
        check = default.check
        if old is not None:
            check = policy.OrCheck([check, old.check])
        rules.setdefault(name, check)
    enforcer.set_rules(rules, use_conf=False)


def build_enforcer(conf: Any) -> Any:
    """An enforcer with the defaults; it has read no file yet."""
    from oslo_policy import policy

    enforcer = policy.Enforcer(conf)
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(list_rules())
    return enforcer


def list_rules() -> list[Any]:
    """The defaults, for oslo.policy's sample generator too."""
    from oslo_policy import policy

    old = policy.DeprecatedRule(
        name="rule:admin_api",
        check_str=OLD_DEFAULT,
        deprecated_reason=DEPRECATION,
        deprecated_since=DEPRECATED_SINCE,
    )
    bases = [
        policy.RuleDefault(
            name,
            check,
            description="Referred to by other rules.",
            scope_types=None if name == "project_reader_api" else [SCOPE],
            deprecated_rule=None if check == OLD_DEFAULT else old,
        )
        for name, check in BASES.items()
    ]
    return bases + [_rule(name, check) for name, check in RULES.items()]


def _rule(name: str, check: str) -> Any:
    from oslo_policy import policy

    mine = [one for one in OPERATIONS if one.rule == name]
    scope = [SCOPE]
    if not mine:
        return policy.RuleDefault(name, check, scope_types=scope)
    return policy.DocumentedRuleDefault(
        name,
        check,
        " ".join(one.summary for one in mine),
        [{"method": one.method, "path": one.path} for one in mine],
        scope_types=scope,
    )


# ------------------------------------------------ rules that cannot be evaluated


def unusable(
    names: Sequence[str], enforcer: Any, questions: Sequence[Question]
) -> Iterator[tuple[str, str]]:
    """The rules among ``names`` that cannot be evaluated, each with the reason.

    Every part of a rule is evaluated by itself, since ``and`` and ``or`` stop early. A
    remote check is not sent: only its URL is built."""
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
    """The leaves of ``check``. Not recursive, because rules may be deep."""
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
    """Rules that refer to each other in a circle, or an empty list."""
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
    """Why ``part`` cannot be evaluated; empty when it can."""
    kind = getattr(part, "kind", "")
    is_own = type(part).__module__ == _OWN_CHECKS
    if kind == "rule" or not (is_own or kind in _REMOTE):
        return ""  # rules are evaluated by name; checks of plug-ins may do anything
    for about, credentials in questions:
        try:
            if kind in _REMOTE:
                part.match % about
            else:
                part(about, credentials, enforcer, name)
        except KeyError:
            continue  # an attribute that other requests have
        except Exception as error:  # checks raise many types
            return f"{part!s} ({type(error).__name__})"
    return ""
