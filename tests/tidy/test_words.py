"""The repository speaks of Gantt alone, keeps no promise for later, and names things.

The words looked for are put together here, so that this file does not find itself.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from tests.programs import printed
from tests.tidy.source import ROOT

# Files that hold other people's words as they are.
QUOTED = frozenset({"LICENSE"})

MACHINE_PATHS = re.compile(
    "|".join(
        rf"(?<![\w.])/{folder}/"
        for folder in ("work", "farm", "root", "tmp/w", r"home/\w+", "opt/wheels")
    )
)
REGISTRIES = re.compile(
    "|".join(
        rf"\b{host}\b"
        for host in (
            "py" + r"pi\.",
            "python" + "hosted",
            "--(extra-)?index" + "-url",
            "--find" + "-links",
            "npm" + "js",
            "proxy.go" + "lang",
        )
    )
)
PROMISES = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")

# People as actors, in place of a process, a caller, an operator or a passive.
ACTORS = re.compile(
    "|".join(
        rf"(?<![a-z]){word}(?![a-z])"
        for word in ("(no|some|any|every)" + "body", "who" + "ever")
    ),
    re.IGNORECASE,
)


def texts() -> list[tuple[str, str]]:
    """Path and text of every text file that is in the repository or about to be."""
    listed = printed(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
    )
    texts = []
    for name in sorted(set(listed.split("\0")) - {""} - QUOTED):
        path = ROOT / name
        if not path.is_file():
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            texts.append((name, content.decode()))
    return texts


def _hits(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert _hits(MACHINE_PATHS) == []


def test_no_file_names_a_package_registry() -> None:
    assert _hits(REGISTRIES) == []


def test_no_file_puts_work_off() -> None:
    assert _hits(PROMISES) == []


def _prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and text of names, comments and docstrings; in the package, of all strings.
    Strings of tests may be data."""
    starts_line = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_prose = token.type in (tokenize.NAME, tokenize.COMMENT)
        is_string = token.type == tokenize.STRING
        if is_prose or (is_string and (starts_line or name.startswith("gantt/"))):
            yield token.start[0], token.string
        layout = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
        starts_line = token.type in (*layout, tokenize.COMMENT)


def test_python_has_no_people_as_actors() -> None:
    hits = [
        f"{name}:{line}: {match[0]}"
        for name, text in texts()
        if name.endswith(".py") and ACTORS.search(text)
        for line, words in _prose(name, text)
        if (match := ACTORS.search(words))
    ]
    assert hits == [], "Name the process, caller or operator:\n" + "\n".join(hits)
