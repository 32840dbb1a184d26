"""What documents show, taken apart and done: commands, programs and files.

A block ``sh`` is typed, a block ``python`` is run; a block ``text`` directly below is
what it prints. A block below "Save as `NAME`:" is that file. Of what is
printed, numbers, uuids, times and the name of the machine may differ; … stands for
anything.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tests import live
from tests.programs import begun, captured
from tests.tidy.source import ROOT

MACHINE = "debian"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The last command of a block, after variables of its own.
_SERVE = re.compile(r"((?:^|[;&] )(?:[A-Z_]+=\S+ )*)gantt serve\b(?=[^\n]*\n?\Z)", re.M)
_PORT = re.compile(r"\b877\d\b")
_FILE = re.compile(r"[Ss]ave as `([\w./-]+)`:\s*\Z")
WILD = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": r"[0-9a-f-]{36}",
    r"\d{4}-\d\d-\d\dT[\d:.+]+": r"\S+",
    r"(?<![\w-])\d+(\.\d+)?": r"\d+(\.\d+)?",
    "…": ".*",
}


class Block(NamedTuple):
    """``file``: where it is to be written, or ""; ``printed``: what is shown below it,
    or None."""

    language: str
    text: str
    file: str = ""
    printed: str | None = None


def document(name: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """All blocks but those that are printed by the one above."""
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        between, (language, inside) = text[end : fence.start()], fence.groups()
        if language == "text" and found and not between.strip():
            assert found[-1].printed is None
            found[-1] = found[-1]._replace(printed=inside)
        else:
            file = _FILE.search(between)
            found.append(Block(language, inside, file[1] if file else ""))
        end = fence.end()
    return found


def pattern(shown: str) -> str:
    """What matches an answer like the one that is shown, however it is wrapped."""
    parts = re.compile("|".join(f"({wild})" for wild in (*WILD, re.escape(MACHINE))))
    found, end = [], 0
    for hit in parts.finditer(shown):
        found += [_plain(shown[end : hit.start()]), _wild(hit.group())]
        end = hit.end()
    return "".join((r"\s*", *found, _plain(shown[end:].rstrip()), r"\s*"))


def _plain(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def _wild(text: str) -> str:
    for wild, stands_for in WILD.items():
        if re.fullmatch(wild, text):
            return stands_for
    return re.escape(socket.gethostname())


def said_as_shown(block: Block, said: str) -> None:
    """Raises AssertionError if ``said`` is not what is shown, or tells of an error."""
    if block.printed is None:
        assert "Error" not in said, f"{block.text}\n{said}"
        assert '"errors"' not in said, f"{block.text}\n{said}"
    else:
        match = re.fullmatch(pattern(block.printed), said, re.DOTALL)
        assert match, f"{block.text} shown:\n{block.printed}\nsaid:\n{said}"


class Terminal:
    """A shell in ``folder``, whose variables last.

    ``gantt serve``, the last command of a block, goes on in the background until the
    next one of its port, or the end. Ports such as 8778 are replaced by free ones;
    ``url`` is that of a service that runs already. ``programs``: folders whose programs
    come first; ``instead``: what is done by the test when this is typed.
    """

    def __init__(
        self,
        url: str = "",
        folder: Path = ROOT,
        *,
        programs: Sequence[Path] = (),
        instead: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        self._ports = {"8778": url.rpartition(":")[2] or str(live.free_port())}
        self._folder = folder
        ours = (*programs, Path(sys.executable).parent)
        path = ":".join((*map(str, ours), os.environ["PATH"]))
        found = f"http://127.0.0.1:{self._ports['8778']}"
        self.environ = {**os.environ, "GANTT_URL": found, "PATH": path}
        self._variables = ""
        self._instead = dict(instead or {})
        self._serving: dict[str, live.Live] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for service in self._serving.values():
            service.kill()

    def type(self, text: str) -> str:
        """What these commands print, errors too."""
        act = self._instead.get(text.strip())
        if act is not None:
            act()
            return ""
        if _SERVE.search(text):
            return self._serve(text.strip())
        text = self._with_ports(text)
        if re.match("[A-Z]+=", text):
            self._variables += text.splitlines()[0] + "\n"
        return self._run("sh", "-c", self._variables + text)

    def follow(self, text: str) -> int:
        """Do all that a document shows, in order; how many commands were typed."""
        typed = 0
        for block in blocks(text):
            if block.file:
                file = self._folder / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                said_as_shown(block, self._run(sys.executable, "-c", block.text))
            elif block.language == "sh" and self._can(block.text):
                said_as_shown(block, self.type(block.text))
                typed += 1
        return typed

    def stop(self, port: str = "8778") -> None:
        """Ctrl-C for what serves there, if anything does."""
        running = self._serving.pop(port, None)
        if running is not None:
            assert running.stop() == 0, running.log.read_text()

    def _serve(self, text: str) -> str:
        port = re.search(r"--listen \S+:(\d+)", text)
        shown = port[1] if port else "8778"
        self.stop(shown)
        if port is None:
            text += " --listen 127.0.0.1:8778"
        text = self._with_ports(text)
        log = self._folder / f"serve-{shown}-{len(list(self._folder.iterdir()))}.log"
        with log.open("ab") as output:
            process = begun(
                ["sh", "-c", self._variables + _SERVE.sub(r"\1exec gantt serve", text)],
                output,
                cwd=self._folder,
                env=self.environ,
            )
        url = f"http://127.0.0.1:{self._ports[shown]}"
        self._serving[shown] = live.Live(url, "", process, log)
        live.wait_until_up(self._serving[shown])
        return ""

    def _with_ports(self, text: str) -> str:
        def free(hit: re.Match[str]) -> str:
            return self._ports.setdefault(hit[0], str(live.free_port()))

        return _PORT.sub(free, text)

    def _can(self, text: str) -> bool:
        return "curl " not in text or shutil.which("curl") is not None

    def _run(self, *words: str) -> str:
        ended = captured(
            words, cwd=self._folder, env=self.environ, stderr=subprocess.STDOUT
        )
        return ended.stdout


def programs(text: str) -> Iterator[Block]:
    """The blocks of Python that are no files."""
    for block in blocks(text):
        if block.language == "python" and not block.file:
            yield block
