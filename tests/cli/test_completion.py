"""``gantt completion`` in real shells, and ``--version``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gantt import __version__
from gantt.cli.completion import PROGRAMS
from gantt.cli.main import gantt
from tests.cli.conftest import Program
from tests.programs import printed

SCRIPTS = Path(sys.executable).parent
BASH = """
eval "$(gantt completion bash)"
complete -p gantt gantt-{{agent,launch,manage,status}} > /dev/null || exit 9
words=({words})
COMP_WORDS=("${{words[@]}}" "{word}") COMP_CWORD=${{#words[@]}}
_{name}_completion {program} 2> /dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# What the script hands to zsh's own functions, which need a terminal.
ZSH = """
compdef() {{ print -r -- "$2" >> {log}; }}
eval "$(gantt completion zsh)"
_describe() {{ print -rl -- "${{(@P)3}}"; }}
compadd() {{ print -rl -- "${{(@P)5}}"; }}
words=({words} "{word}") CURRENT=$(( ${{#words}} ))
_{name}_completion
"""
FISH = """
gantt completion fish | source
complete --do-complete '{words} {word}'
"""


def run(shell: str, script: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    bare = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}
    ended = printed(
        [program, *bare[shell], "-c", script],
        env={**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}"},
    )
    return ended.splitlines()


def completed(shell: str, line: str, folder: Path) -> list[str]:
    """The words that may follow in place of the last one of ``line``."""
    words, _, word = line.rpartition(" ")
    program = words.split()[0]
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell].format(
        words=words,
        word=word,
        program=program,
        name=program.replace("-", "_"),
        log=folder / "log",
    )
    # With its description: after a tab in fish, a colon in zsh.
    return [one.partition("\t")[0].partition(":")[0] for one in run(shell, script)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gantt prov", ["provider"]),
        ("gantt provider cr", ["create"]),
        ("gantt serve --auth ", ["noauth2", "token", "keystone"]),
        ("gantt serve --reg", ["--register-machine"]),
        ("gantt-manage db s", ["stamp", "sync"]),
        ("gantt-status upg", ["upgrade"]),
        ("gantt-agent --met", ["--metrics-listen"]),
    ],
)
def test_a_shell_completes(
    shell: str, line: str, expected: list[str], tmp_path: Path
) -> None:
    assert sorted(completed(shell, line, tmp_path)) == sorted(expected)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_file_of_one_program_is_one(shell: str) -> None:
    program = Program(gantt, "")
    whole = program.do("completion", shell)
    alone = [program.do("completion", shell, "--program", name) for name in PROGRAMS]
    assert whole == "".join(alone)
    if shell == "zsh":
        heads = [text.partition("\n")[0] for text in alone]
        assert heads == [f"#compdef {name}" for name in PROGRAMS]


def test_configuration_files_are_completed_as_files(tmp_path: Path) -> None:
    """By the shell itself: click only says that a file is wanted."""
    environ = {
        **os.environ,
        "COMP_WORDS": "gantt serve --config-file x",
        "COMP_CWORD": "3",
        "_GANTT_COMPLETE": "bash_complete",
    }
    found = subprocess.check_output(SCRIPTS / "gantt", env=environ, text=True)
    assert found == "file,x\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_tells_its_version(name: str) -> None:
    said = subprocess.check_output([SCRIPTS / name, "--version"], text=True)
    assert said == f"{name}, version {__version__}\n"
