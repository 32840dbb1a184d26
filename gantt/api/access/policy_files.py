"""Reads and checks the operator's policy files before oslo.policy gets the rules.

oslo.policy accepts anything: it denies by a rule that it cannot parse, grants by an
empty one, and raises for other faults only when the next request comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, cast

from gantt.api.access.live_files import Stamp, line_of, parse, read_text, stamp_of
from gantt.errors import Refused

WHAT = "policy file"

_DENY = "!"
_REFERENCE = re.compile(r"(?<![\w%.])rule:([^\s()]+)")
# oslo.policy uses this rule in place of an undefined one.
_DEFAULT = "default"


class FileRules(NamedTuple):
    """Rule -> its check as written, and rule -> its file and the text of that."""

    rules: dict[str, Any]
    files: dict[str, tuple[Path, str]]

    def place(self, name: str) -> str:
        """The place of a rule, such as "/x/policy.yaml, line 3"."""
        path, text = self.files[name]
        return f"{path}{line_of(name, text)}"


class PolicyFiles:
    """The policy file and the files in the policy directories of ``conf``."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf

    def paths(self) -> tuple[Path, ...]:
        """Existing files; later ones take precedence."""
        options = self._conf.oslo_policy
        file = self._conf.find_file(options.policy_file)
        files = [Path(file)] if file else []
        for name in options.policy_dirs:
            if folder := self._conf.find_file(name):
                files += sorted(
                    path
                    for path in Path(folder).iterdir()
                    if not path.is_dir() and not path.name.startswith(".")
                )
        return tuple(files)

    def stamp(self) -> Stamp:
        """Changes when any of the files does. Raises OSError."""
        return stamp_of(self.paths())

    def rules(self) -> FileRules:
        """The rules of all files. Raises Refused."""
        together = FileRules({}, {})
        for path in self.paths():
            one = read_rules(path)
            together.rules.update(one.rules)
            together.files.update(one.files)
        return together


def read_rules(path: Path) -> FileRules:
    """The rules of one file. Raises Refused, naming file and line."""
    text, _ = read_text(WHAT, path)
    found = parse(WHAT, path, text)
    if found is None:
        return FileRules({}, {})
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise Refused(
            f"The policy file {path} must map names of rules to rules, one on each "
            'line, such as "placement:usages": "role:reader".'
        )
    for name, said in found.items():
        if not _is_understood(said):
            raise Refused(
                f"The policy file {path}{line_of(name, text)}: the rule of "
                f"{name!r} cannot be parsed. A rule is text such as "
                "'role:admin or rule:service_api'; '@' allows all callers, "
                "'!' none."
            )
    return FileRules(found, dict.fromkeys(found, (path, text)))


def _is_understood(said: object) -> bool:
    """Whether oslo.policy can parse the check. It turns others into denials, and only
    logs that."""
    from oslo_policy import policy

    if not isinstance(said, str | list):
        return False
    try:
        check = policy.RuleDefault("rule", cast(str, said)).check
        return str(check).count(_DENY) <= str(said).count(_DENY)
    except Exception:  # its parser raises many types
        return False


def misspelt(rules: Mapping[str, Any], known: Iterable[str]) -> Iterator[str]:
    """Warnings about names in ``rules`` that have no effect."""
    names = {*known, _DEFAULT}
    defined = names | rules.keys()
    referred = {name: rule for rule, said in rules.items() for name in _referred(said)}
    for rule in rules:
        if rule not in names and rule not in referred:
            yield (
                f"The policy rule {rule!r} is unknown and has no effect"
                f"{_advice(rule, names)}."
            )
    for name, rule in referred.items():
        if name not in defined:
            yield (
                f"The policy rule {rule!r} refers to rule:{name}, which is "
                f"not defined, so it allows no caller{_advice(name, defined)}."
            )


def _referred(said: object) -> list[str]:
    """Names of rules that a check refers to; for a list, those of all its parts."""
    if isinstance(said, str):
        return _REFERENCE.findall(said)
    return (
        [name for part in said for name in _referred(part)]
        if (isinstance(said, list))
        else []
    )


def _advice(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, names, 1)
    return f": did you mean {close[0]!r}?" if close else ""
