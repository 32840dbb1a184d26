"""Whether a caller may: oslo.policy where it is installed, else the defaults alone.

oslo.policy reads overrides from a policy file and costs some 50 µs per question, so
its answers are remembered for a second, which is also how long a changed file may
take to hold. A changed file that is broken leaves the last good one in force. Without
oslo.policy there is no policy file, and the defaults are judged here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gantt.api.access.live_files import Live, Stamp
from gantt.api.access.policy_files import PolicyFiles, misspelt
from gantt.api.access.policy_trial import Question, unjudgeable
from gantt.api.access.rules import BASES, RULES, SCOPE, Base
from gantt.api.call import Caller, Policy
from gantt.conf import SYSTEM_DIRECTORY, Settings
from gantt.errors import Refused

LOG = logging.getLogger(__name__)

KNOWN = frozenset((*RULES, *(base.name for base in BASES)))
REMEMBER_S = 1.0
REMEMBER_ANSWERS = 4096
DEPRECATION = "The new defaults know the roles admin, service and reader."
DEPRECATED_SINCE = "Wallaby"


def build_policy(settings: Settings) -> Policy:
    """oslo.policy's judgement, or our own of the same defaults. Raises Refused where
    there is a policy file that would not be read."""
    if find_spec("oslo_policy") is None:
        _refuse_policy_file(settings)
        return DefaultPolicy(
            enforce_scope=settings.enforce_scope,
            enforce_new_defaults=settings.enforce_new_defaults,
        )
    return OsloPolicy(settings.oslo)


def _refuse_policy_file(settings: Settings) -> None:
    """Rules that are not read must not be taken for rules that hold."""
    folders = [Path(file).parent for file in settings.files] or [SYSTEM_DIRECTORY]
    for folder in folders:
        file = folder / settings.policy_file
        if file.is_file():
            raise Refused(
                f"The policy file {file} needs the Python module oslo_policy, "
                "which is not installed: pip install "
                "'gantt-scheduler[openstack]', or remove the file."
            )


def warnings(settings: Settings) -> list[str]:
    """What to tell of names in the policy files that mean nothing. Raises Refused."""
    if find_spec("oslo_policy") is None:
        return []
    return list(misspelt(PolicyFiles(settings.oslo).said().rules, KNOWN))


def refusal(rule: str) -> str:
    """What a caller without the role is told."""
    return f"Policy does not allow {rule} to be performed."


class DefaultPolicy:
    """The default rules, judged without oslo.policy; there are no overrides."""

    def __init__(
        self, *, enforce_scope: bool = True, enforce_new_defaults: bool = True
    ) -> None:
        self._enforce_scope = enforce_scope
        self._enforce_new_defaults = enforce_new_defaults

    def counts(self) -> dict[str, float]:
        """For metrics: there is no file that could be broken."""
        return {"policy_errors": 0}

    def allows(self, rule: str, caller: Caller, target: Mapping[str, Any]) -> str:
        """Empty when ``caller`` may; otherwise the text of the refusal."""
        if self._enforce_scope and (caller.system_scope or caller.domain_id):
            return rule  # the wrong scope is told by the bare name
        base = RULES[rule]
        roles = {role.lower() for role in caller.roles}
        if self._holds(base, roles, caller, target):
            return ""
        return refusal(rule)

    def _holds(
        self,
        base: Base,
        roles: set[str],
        caller: Caller,
        target: Mapping[str, Any],
    ) -> bool:
        if roles & base.roles:
            return True
        if base.own_project and "reader" in roles:
            project = target.get("project_id", caller.project_id)
            if project is not None and project == caller.project_id:
                return True
        return not self._enforce_new_defaults and base.old_role in roles


class OsloPolicy:
    """oslo.policy with the default rules and the operator's policy file."""

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
        self._told: set[str] = set()
        self._live = Live("policy", self._files.stamp, self._read)
        for path in self._files.found():
            LOG.info("Policy file: %s", path)

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {"policy_errors": self._live.errors}

    def allows(self, rule: str, caller: Caller, target: Mapping[str, Any]) -> str:
        """Empty when ``caller`` may; otherwise the text of the refusal."""
        key = (rule, caller, *target.values())
        now = self._clock()
        if now >= self._fresh_until or len(self._answers) >= REMEMBER_ANSWERS:
            self._live.look()
            self._answers = {}
            self._fresh_until = now + REMEMBER_S
        answers = self._answers
        answer = answers.get(key)
        if answer is None:
            answer = answers[key] = self._ask(rule, caller, target)
        return answer

    def _read(self, stamp: Stamp) -> Any:
        """What judges by the files as they are now. Raises Refused."""
        self._refuse_lost(self._good, stamp)
        enforcer = self._loaded()
        self._good = stamp
        self._told = set()
        return enforcer

    @staticmethod
    def _refuse_lost(before: Stamp, now: Stamp) -> None:
        """A file that is gone or has nothing in it is more likely half of a change than
        the wish to be without it. Raises Refused."""
        sizes = {one[0]: one[2] for one in now if isinstance(one, tuple)}
        for one in before:
            if isinstance(one, tuple) and one[2] and not sizes.get(one[0]):
                what = "is empty now" if one[0] in sizes else "is gone"
                raise Refused(
                    f"The policy file {one[0]} {what}: restore it, or restart to "
                    "run without it."
                )

    def _loaded(self) -> Any:
        """oslo.policy with what the files say; it reads no file itself, for it would
        wait for a pipe. Raises Refused."""
        said = self._files.said()
        enforcer = build_enforcer(self._conf)
        try:
            take_over(enforcer, said.rules)
            faults = list(unjudgeable(tuple(said.rules), enforcer, TRIALS))
        except Exception as error:  # whatever oslo.policy stumbles over
            raise Refused(
                f"The policy files cannot be used ({type(error).__name__})."
            ) from None
        for name, reason in faults:
            raise Refused(
                f"The policy file {said.place(name)}: the rule of {name!r} cannot be "
                f"judged: {reason}. Correct it."
            )
        for text in misspelt(said.rules, KNOWN):
            LOG.warning("%s", text)
        return enforcer

    def _ask(self, rule: str, caller: Caller, target: Mapping[str, Any]) -> str:
        about, credentials = question(caller, target)
        try:
            self._live.value.authorize(rule, about, credentials, do_raise=True)
        except self._wrong_scope:
            return rule
        except self._denied:
            return refusal(rule)
        except Exception as error:  # such as a remote check that does not answer
            if rule not in self._told:
                self._told.add(rule)
                LOG.error(
                    "The policy rule %r cannot be judged (%s): what it guards is "
                    "refused. Correct the rule, or what it asks.",
                    rule,
                    type(error).__name__,
                )
            return refusal(rule)
        return ""


def question(caller: Caller, target: Mapping[str, Any]) -> Question:
    """What is asked about, and the caller, as oslo.policy takes them."""
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


# What can be judged of a caller without anything, and of one with everything, can be
# judged of all.
TRIALS = (
    question(Caller(), {}),
    question(Caller("u", "p", ("r",), "all", "d"), {}),
)


def take_over(enforcer: Any, said: dict[str, Any]) -> None:
    """Have ``enforcer`` judge by ``said`` above the defaults, and read no file."""
    from oslo_policy import policy

    rules = policy.Rules.from_dict(said, enforcer.default_rule)
    is_new = enforcer.conf.oslo_policy.enforce_new_defaults
    for name, default in enforcer.registered_rules.items():
        old = None if is_new else default.deprecated_rule
        check = default.check
        if old is not None:
            check = policy.OrCheck([check, old.check])
        rules.setdefault(name, check)
    enforcer.set_rules(rules, use_conf=False)


def build_enforcer(conf: Any) -> Any:
    """oslo.policy with the default rules; it has read no file yet."""
    from oslo_policy import policy

    enforcer = policy.Enforcer(conf)
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    old = policy.DeprecatedRule(
        name="rule:admin_api",
        check_str="role:admin",
        deprecated_reason=DEPRECATION,
        deprecated_since=DEPRECATED_SINCE,
    )
    enforcer.register_defaults(
        [
            policy.RuleDefault(
                base.name,
                base.check,
                scope_types=[SCOPE] if base.is_scoped else None,
                deprecated_rule=old if base.old_role else None,
            )
            for base in BASES
        ]
        + [
            policy.RuleDefault(name, f"rule:{base.name}", scope_types=[SCOPE])
            for name, base in RULES.items()
        ]
    )
    return enforcer
