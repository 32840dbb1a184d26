"""Both policy engines against one table, and features of oslo.policy."""

from __future__ import annotations

import importlib
import os
import re
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gantt.api.access.access_policy import KNOWN, RULES, DefaultPolicy
from gantt.api.access.oslo import REMEMBER_S, OsloPolicy, list_rules
from gantt.api.access.policy_engine import build_policy
from gantt.api.access.policy_files import read_rules
from gantt.api.call import AccessPolicy, Caller
from gantt.conf import load
from gantt.engine.reading.reader import WouldWait
from gantt.errors import Refused
from tests.configured import settings_of
from tests.tidy.source import ROOT

ADMIN = Caller("u", "p", ("admin", "member", "reader"))
SERVICE = Caller("nova", "service", ("service",))
READER = Caller("u", "p", ("reader",))
MEMBER = Caller("u", "p", ("member",))
SHOUTING = Caller("u", "p", ("ADMIN",))
SYSTEM = Caller("u", None, ("admin",), "all")
DOMAIN = Caller("u", None, ("admin",), None, "d")
CALLERS = (ADMIN, SERVICE, READER, MEMBER, SHOUTING, SYSTEM, DOMAIN)

LIST = "placement:resource_providers:list"
RESHAPE = "placement:reshaper:reshape"
USAGES = "placement:usages"

OWN = {"project_id": "p"}
OTHER = {"project_id": "q"}
UNSAID: dict[str, Any] = {"project_id": None}

# (rule, target, allowed callers with new defaults, and further ones with old)
DECISIONS: list[tuple[str, dict[str, Any], set[Caller], set[Caller]]] = [
    (LIST, {}, {ADMIN, SERVICE, SHOUTING}, set()),
    ("placement:allocations:update", {}, {ADMIN, SERVICE, SHOUTING}, set()),
    ("placement:traits:show", {}, {ADMIN, SERVICE, SHOUTING}, set()),
    (RESHAPE, {}, {SERVICE}, {ADMIN, SHOUTING}),
    (USAGES, OWN, {ADMIN, SERVICE, SHOUTING, READER}, set()),
    (USAGES, OTHER, {ADMIN, SERVICE, SHOUTING}, set()),
    (USAGES, UNSAID, {ADMIN, SERVICE, SHOUTING}, set()),
]


def oslo(tmp_path: Path, text: str = "", clock: Any = None) -> OsloPolicy:
    settings = settings_of(tmp_path, text)
    return OsloPolicy(settings.oslo, *([clock] if clock else []))


@pytest.fixture(params=["oslo", "own"])
def engines(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[AccessPolicy, AccessPolicy]:
    """The same engine with new and with old defaults."""
    if request.param == "own":
        return DefaultPolicy(), DefaultPolicy(enforce_new_defaults=False)
    old = tmp_path / "old"
    old.mkdir()
    return (
        oslo(tmp_path),
        oslo(old, "[oslo_policy]\nenforce_new_defaults = false\n"),
    )


@pytest.mark.parametrize(("rule", "target", "may", "might"), DECISIONS)
def test_decisions_with_new_and_old_defaults(
    engines: tuple[AccessPolicy, AccessPolicy],
    rule: str,
    target: dict[str, Any],
    may: set[Caller],
    might: set[Caller],
) -> None:
    new, old = engines
    for caller in CALLERS:
        assert (new.allows(rule, caller, target) == "") == (caller in may), caller
        expected = caller in may | might
        assert (old.allows(rule, caller, target) == "") == expected, caller


def test_both_engines_know_every_rule(
    engines: tuple[AccessPolicy, AccessPolicy],
) -> None:
    for policy in engines:
        for rule in RULES:
            assert policy.allows(rule, SERVICE, OTHER) == ""
            assert policy.allows(rule, MEMBER, OTHER) == (
                f"Policy does not allow {rule} to be performed."
            )


@pytest.mark.parametrize("is_new", [True, False])
def test_both_engines_agree_on_every_rule(tmp_path: Path, is_new: bool) -> None:
    ours = DefaultPolicy(enforce_new_defaults=is_new)
    theirs = oslo(tmp_path, f"[oslo_policy]\nenforce_new_defaults = {is_new}\n")
    for rule, caller, target in product(RULES, CALLERS, ({}, OWN, OTHER, UNSAID)):
        expected = theirs.allows(rule, caller, target)
        assert ours.allows(rule, caller, target) == expected, (rule, caller, target)


def test_wrong_scope_is_refused_with_the_bare_rule(
    engines: tuple[AccessPolicy, AccessPolicy],
) -> None:
    for policy in engines:
        assert policy.allows(LIST, SYSTEM, {}) == LIST
        assert policy.allows(LIST, DOMAIN, {}) == LIST


def test_scopes_can_be_ignored() -> None:
    assert DefaultPolicy(enforce_scope=False).allows(LIST, SYSTEM, {}) == ""


def test_policy_file_overrides_and_is_reloaded(tmp_path: Path) -> None:
    now = [0.0]
    policy = oslo(tmp_path, clock=lambda: now[0])
    assert policy.allows(LIST, MEMBER, {})
    file = tmp_path / "policy.yaml"
    file.write_text(f'"{LIST}": "role:member"\n"service_api": "role:reshaper"\n')
    now[0] += 2
    assert policy.allows(LIST, MEMBER, {}) == ""
    assert policy.allows(LIST, SERVICE, {})
    assert policy.allows(RESHAPE, SERVICE, {})
    file.write_text(f'"{LIST}": "@"\n')
    os.utime(file, (2_000_000_000, 2_000_000_000))
    now[0] += 2
    assert policy.allows(LIST, SERVICE, {}) == ""


def test_answers_are_cached_by_caller_and_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = oslo(tmp_path)
    asked: list[Any] = []
    ask = policy._live.value.authorize

    def count(*args: Any, **kwargs: Any) -> Any:
        asked.append(args)
        return ask(*args, **kwargs)

    monkeypatch.setattr(policy._live.value, "authorize", count)
    for _ in range(5):
        policy.allows(USAGES, READER, OWN)
        policy.allows(USAGES, READER, OTHER)
        policy.allows(USAGES, ADMIN, OTHER)
    assert len(asked) == 3


def test_only_cached_answers_are_given_at_once(tmp_path: Path) -> None:
    now = [100.0]
    policy = oslo(tmp_path, clock=lambda: now[0])

    def at_once(caller: Caller) -> str:
        return policy.allows(USAGES, caller, OTHER, at_once=True)

    with pytest.raises(WouldWait):
        at_once(READER)
    refusal = policy.allows(USAGES, READER, OTHER)
    assert at_once(READER) == refusal != ""
    with pytest.raises(WouldWait):
        at_once(ADMIN)
    now[0] += REMEMBER_S
    with pytest.raises(WouldWait):
        at_once(READER)
    # Without files and remote checks nothing is ever waited for.
    assert DefaultPolicy().allows(USAGES, READER, OTHER, at_once=True) == refusal


def test_cache_of_answers_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.api.access.oslo.REMEMBER_ANSWERS", 3)
    policy = oslo(tmp_path, clock=lambda: 0.0)
    for number in range(10):
        policy.allows(USAGES, READER, {"project_id": str(number)})
        assert len(policy._answers) <= 3


def test_defaults_work_without_oslo_policy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path, "[oslo_policy]\nenforce_new_defaults = false\n")
    assert isinstance(build_policy(settings), OsloPolicy)
    monkeypatch.setattr("gantt.api.access.policy_engine.find_spec", lambda name: None)
    own = build_policy(settings)
    assert isinstance(own, DefaultPolicy)
    assert own.allows(RESHAPE, ADMIN, {}) == ""


def test_policy_file_without_oslo_policy_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "gantt.conf"
    config.write_text("")
    (tmp_path / "policy.yaml").write_text(f'"{LIST}": "!"\n')
    monkeypatch.setattr("gantt.api.access.policy_engine.find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"policy\.yaml needs .* oslo_policy"):
        build_policy(load([str(config)]))


BROKEN = {
    "a syntax error": ('"a": "role:x"\n"b": [canary\n', "line 3"),
    "not a mapping": ("- canary\n", "must map"),
    "a malformed rule": (f'"{LIST}": "role:member and canary"\n', "line 1"),
    "a rule that is a number": (f'\n"{LIST}": 7\n', "line 2"),
    "an empty rule": (f'"{LIST}":\n', "cannot be parsed"),
    "bytes": ("\n\udcff\udcfe", "line 2"),
    "brackets in brackets": ("[" * 100, "nested too deeply"),
    "an impossible date": ("a: 2026-99-99", "is not YAML"),
    "too large": ("#canary\n" * 150_000, "larger than 1048576 bytes"),
    "a rule that refers to itself": (f'\n"{LIST}": "rule:{LIST}"\n', "line 2"),
    "a circle by way of not": (
        f'"{LIST}": "rule:canary_1"\n"canary_1": "not rule:{LIST}"\n'.replace(
            "canary", "c"
        ),
        f"{LIST} -> c_1",
    ),
    "a circle by way of a default": (
        '"admin_or_service_api": "rule:placement:usages"\n"x": "rule:x"\n',
        "refers to itself",
    ),
    "a template that ends too soon": (f'"{LIST}": "role:%(x"\n', "ValueError"),
    "a template behind and": (
        f'"{LIST}": "role:none and project_id:%(project_id)d"\n',
        "TypeError",
    ),
    "a template of a URL": (f'"{LIST}": "http://127.0.0.1:1/%(x"\n', "ValueError"),
    "a part of what has no parts": (f'"{LIST}": "user_id.x:y"\n', "TypeError"),
}


def _write(file: Path, text: str, at: int) -> None:
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    os.utime(file, (2_000_000_000 + at, 2_000_000_000 + at))


@pytest.mark.parametrize("what", [*BROKEN, "empty", "removed", "a directory", "a pipe"])
def test_broken_policy_keeps_the_last_good_one(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    file = tmp_path / "policy.yaml"
    _write(file, f'"{LIST}": "role:member"\n', 0)
    policy = oslo(tmp_path, clock=lambda: now[0])
    text, told = BROKEN.get(what, ("", ""))
    if what in ("removed", "a directory", "a pipe"):
        file.unlink()
    if what == "a directory":
        file.mkdir()
    elif what == "a pipe":
        os.mkfifo(file)
    elif what != "removed":
        _write(file, text, 1)
    caplog.clear()
    for _ in range(5):
        now[0] += 2
        assert policy.allows(LIST, MEMBER, {}) == ""
        assert policy.allows(LIST, READER, {})
    (record,) = [
        one
        for one in caplog.records
        if one.levelname == "ERROR" and one.name.startswith("gantt")
    ]
    assert str(file) in record.message
    assert told in record.message
    assert "canary" not in record.message
    assert policy.counts() == {"policy_errors": 1}
    if what == "a directory":
        file.rmdir()
    elif what == "a pipe":
        file.unlink()
    _write(file, f'"{LIST}": "role:reader"\n', 2)
    now[0] += 2
    assert policy.allows(LIST, READER, {}) == ""
    assert policy.allows(LIST, MEMBER, {})


@pytest.mark.parametrize("what", BROKEN)
def test_broken_policy_is_refused_at_start(what: str, tmp_path: Path) -> None:
    text, told = BROKEN[what]
    _write(tmp_path / "policy.yaml", text, 0)
    with pytest.raises(Refused, match=told) as caught:
        oslo(tmp_path)
    assert "canary" not in str(caught.value)


def test_policy_directories_are_watched(tmp_path: Path) -> None:
    now = [0.0]
    folder = tmp_path / "policy.d"
    folder.mkdir()
    policy = oslo(tmp_path, clock=lambda: now[0])
    _write(folder / "a.yaml", f'"{LIST}": "role:member"\n', 0)
    now[0] += 2
    assert policy.allows(LIST, MEMBER, {}) == ""
    _write(folder / "a.yaml", "[", 1)
    now[0] += 2
    assert policy.allows(LIST, MEMBER, {}) == ""
    assert policy.counts() == {"policy_errors": 1}


def test_misspelt_rules_are_logged_with_a_suggestion(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    file = tmp_path / "policy.yaml"
    _write(
        file,
        '"placement:resource_provider:list": "rule:mine"\n'
        '"mine": "role:x or rule:admin_ap"\n"default": "!"\n',
        0,
    )
    policy = oslo(tmp_path, clock=lambda: now[0])
    told = [
        one.message for one in caplog.records if one.name == "gantt.api.access.oslo"
    ]
    assert len([one for one in told if "policy rule" in one]) == 2
    assert f"did you mean '{LIST}'" in caplog.text
    assert "did you mean 'admin_api'" in caplog.text
    caplog.clear()
    _write(file, '"placement:usage": "@"\n', 1)
    now[0] += 2
    policy.allows(LIST, ADMIN, {})
    assert f"did you mean '{USAGES}'" in caplog.text


def test_all_forms_of_rules_are_parsed(tmp_path: Path) -> None:
    _write(
        tmp_path / "policy.yaml",
        "a: '!'\nb: '@'\nc: ''\nd: not role:x\ne: [['role:a', '!'], ['role:b']]\n"
        "f: (role:a or !) and not rule:a\ng: project_id:%(project_id)s\n"
        "h: \"'x!':%(y)s\"\ni: []\n",
        0,
    )
    oslo(tmp_path)


def test_named_pipe_in_policy_directory_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    os.mkfifo(folder / "a.yaml")
    with pytest.raises(Refused, match=r"a\.yaml cannot be read: it is not a regular"):
        oslo(tmp_path)


def test_failing_rule_denies_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    # Nothing listens there.
    _write(tmp_path / "policy.yaml", f'"{LIST}": "http://127.0.0.1:1/x"\n', 0)
    policy = oslo(tmp_path, clock=lambda: now[0])
    caplog.clear()
    for _ in range(5):
        now[0] += 2
        assert policy.allows(LIST, ADMIN, {}) == (
            f"Policy does not allow {LIST} to be performed."
        )
        assert policy.allows(RESHAPE, SERVICE, {}) == ""
    (record,) = [one for one in caplog.records if one.name.startswith("gantt")]
    assert record.levelname == "ERROR"
    assert LIST in record.message
    assert "ConnectionError" in record.message


def test_broken_policy_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    policy = oslo(tmp_path, clock=lambda: now[0])
    read: list[Path] = []

    def count(path: Path) -> Any:
        read.append(path)
        return read_rules(path)

    monkeypatch.setattr("gantt.api.access.policy_files.read_rules", count)
    _write(tmp_path / "policy.yaml", "[" * 3_000, 1)
    for _ in range(5):
        now[0] += 2
        policy.allows(LIST, ADMIN, {})
    assert read == [tmp_path / "policy.yaml"]


def test_the_sample_generator_finds_every_rule() -> None:
    """As oslopolicy-sample-generator writes them, commented."""
    from oslo_policy import generator

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (place,) = declared["entry-points"]["oslo.policy.policies"].values()
    module, _, name = place.partition(":")
    assert getattr(importlib.import_module(module), name) is list_rules
    rules = list_rules()
    assert {rule.name for rule in rules} == KNOWN
    written = [generator._format_rule_default_yaml(rule) for rule in rules]
    assert all(re.search(r'^#"[^"]+": "[^"]+"$', one, re.MULTILINE) for one in written)
    (select,) = (one for one in written if '"gantt:select"' in one)
    assert "# POST  /gantt/select\n" in select
