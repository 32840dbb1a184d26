"""Each block of a guide is run by a test, or says in the guide that none can."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import pytest

from tests.guides.guide import Shown, guide, names, shown
from tests.guides.table import FOLLOWED, IN_A_ROOT, OTHERS, OWN, SEEN, TYPED
from tests.shown import blocks
from tests.tidy.source import ROOT

# As it types all commands of a guide.
TYPED_BY = re.compile(r'type_all\(\s*terminal,\s*"([\w-]+)"')


def typed() -> set[str]:
    """The guides all of whose commands are typed."""
    return set(TYPED_BY.findall((ROOT / TYPED).read_text()))


def test_of(name: str, block: Shown) -> str:
    """The test that runs it; ""."""
    for named in (OTHERS, IN_A_ROOT):
        if block.name in named.get(name, {}):
            return named[name][block.name]
    file, _, languages = OWN.get(name, ("", 0, ()))
    if block.language in languages:
        return file
    if block.language == "ini":
        return "tests/guides/test_configuration.py"
    if name in typed() and block.language in {"console", "indented"}:
        return TYPED
    done = {
        one.text
        for one in blocks(guide(name))
        if one.file or (name in FOLLOWED and one.language in {"sh", "python"})
    }
    if block.text in done:
        return FOLLOWED.get(name, TYPED)
    return ""


test_of.__test__ = False  # type: ignore[attr-defined]


def picked(name: str) -> list[Shown]:
    """The blocks of a guide that tests of their own do."""
    _, _, languages = OWN.get(name, ("", 0, ()))
    others = {**OTHERS.get(name, {}), **IN_A_ROOT.get(name, {})}
    return [
        one
        for one in shown(name)
        if not one.excerpt and (one.name in others or one.language in languages)
    ]


def digest(blocks: list[Shown]) -> str:
    whole = "\0".join(block.text for block in blocks)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def neither(name: str) -> Iterator[str]:
    """Blocks that are neither run nor marked."""
    for block in shown(name):
        if not block.excerpt and not test_of(name, block):
            yield f"docs/how-to/{name}.md: {block.name}"


@pytest.mark.parametrize("name", names())
def test_each_block_is_run_or_says_why_not(name: str) -> None:
    assert list(neither(name)) == []


def test_the_tests_that_are_named_read_their_guide() -> None:
    """Or type what it shows themselves."""
    named = [(name, file, name) for name, file in FOLLOWED.items()]
    named += [(name, file, name) for name, (file, *_) in OWN.items()]
    named += [
        (name, file, first)
        for table in (OTHERS, IN_A_ROOT)
        for name, of in table.items()
        for first, file in of.items()
    ]
    blind = [
        f"{file} does not read {name}"
        for name, file, first in named
        if not _has_one((ROOT / file).read_text(), name, first)
    ]
    assert blind == []


def _has_one(text: str, *parts: str) -> bool:
    return any(one in text for one in parts)


def test_a_test_of_its_own_runs_as_many_blocks_as_there_are() -> None:
    """Such a test finds its blocks by their order: extend it, then the table."""
    counted = {
        name: [
            not one.excerpt
            and one.language in languages
            and one.name not in OTHERS.get(name, {})
            for one in shown(name)
        ]
        for name, (_, _, languages) in OWN.items()
    }
    assert {name: sum(found) for name, found in counted.items()} == {
        name: count for name, (_, count, _) in OWN.items()
    }


def test_a_test_of_its_own_was_read_beside_every_line() -> None:
    """Such a test may pick lines, or have a copy. So when a line of such a block has
    changed, see that the test does the new one; then change the digest in the table."""
    found = {name: digest(picked(name)) for name in names() if picked(name)}
    assert found == SEEN


def test_no_block_is_listed_that_is_gone() -> None:
    gone = [
        f"{name}: {first}"
        for table in (OTHERS, IN_A_ROOT)
        for name, of in table.items()
        for first in of
        if first not in {block.name for block in shown(name) if not block.excerpt}
    ]
    assert gone == []


def test_what_is_typed_in_a_root_is_started_by_the_build_server() -> None:
    """The module by a script, which `.ci/run` runs; it types what the guide has."""
    run = (ROOT / ".ci" / "run").read_text()
    scripts = {
        "scripts/deb": "    make deb\n",
        "scripts/fresh": "\nmake fresh ARGS=--servers\n",
    }
    for of in IN_A_ROOT.values():
        for first, file in of.items():
            module = file.removesuffix(".py").replace("/", ".")
            by = [
                command
                for script, command in scripts.items()
                if f"python -m {module} " in (ROOT / script).read_text()
            ]
            assert by and all(command in run for command in by), file
            assert first in (ROOT / file).read_text(), f"{file}: {first}"
