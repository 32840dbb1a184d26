"""Count lines of code by room in two commits; moved lines are neither new nor gone.

Usage: scripts/lines BEFORE [AFTER]

Blank lines, comments and docstrings do not count. A file has moved where git finds six
tenths of it again under another name. AFTER is HEAD where it is not given.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

ALIKE = "60%"
WITHOUT_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


class Lines(NamedTuple):
    """Lines of code of one room."""

    before: int
    after: int
    moved_out: int
    moved_in: int

    @property
    def net(self) -> int:
        """What was written less what was deleted."""
        return self.after - self.before + self.moved_out - self.moved_in


def code_lines(text: str) -> int:
    """Lines of ``text`` with code on them."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in WITHOUT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                found.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(found)


def room_of(path: str) -> str:
    """A folder of the package, or of the repository."""
    parts = path.split("/")
    if parts[0] != "gantt":
        return parts[0]
    return "/".join(parts[:2]) if len(parts) > 2 else "gantt/*.py"


def count(before: str, after: str, folder: str = ".") -> dict[str, Lines]:
    """The rooms of two commits."""
    sizes: dict[str, int] = {}
    old = _files(before, sizes, folder)
    new = _files(after, sizes, folder)
    leaves: Counter[str] = Counter()
    enters: Counter[str] = Counter()
    for source, target in _renames(before, after, folder):
        moved = min(old[source], new[target])
        leaves[room_of(source)] += moved
        enters[room_of(target)] += moved
    was, now = _by_room(old), _by_room(new)
    return {
        room: Lines(was[room], now[room], leaves[room], enters[room])
        for room in sorted(was.keys() | now.keys())
    }


def _by_room(files: dict[str, int]) -> Counter[str]:
    rooms: Counter[str] = Counter()
    for path, lines in files.items():
        rooms[room_of(path)] += lines
    return rooms


def _files(commit: str, sizes: dict[str, int], folder: str) -> dict[str, int]:
    """Lines by path; ``sizes`` by blob, so that each is counted once."""
    found: dict[str, int] = {}
    for line in _git(folder, "ls-tree", "-r", commit).splitlines():
        entry, _, path = line.partition("\t")
        if path.endswith(".py"):
            blob = entry.split()[2]
            if blob not in sizes:
                sizes[blob] = code_lines(_git(folder, "cat-file", "blob", blob))
            found[path] = sizes[blob]
    return found


def _renames(before: str, after: str, folder: str) -> Iterator[tuple[str, str]]:
    words = ("diff", "--name-status", "--diff-filter=R", "-l0", f"-M{ALIKE}")
    for line in _git(folder, *words, before, after, "--", "*.py").splitlines():
        _, source, target = line.split("\t")
        yield source, target


def _git(folder: str, *words: str) -> str:
    command = ["git", "-C", folder, *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def table(rooms: dict[str, Lines]) -> Iterator[str]:
    """A line per room that changed, then the package and everything."""
    yield "| room | before | after | moved out | moved in | net |"
    yield "|---|---|---|---|---|---|"
    changed = {n: r for n, r in rooms.items() if r.before != r.after or r.net}
    package = [lines for name, lines in rooms.items() if name.startswith("gantt/")]
    sums = {
        "gantt in all": Lines(*map(sum, zip(*package, strict=True))),
        "all": Lines(*map(sum, zip(*rooms.values(), strict=True))),
    }
    for name, (before, after, moved_out, moved_in) in (changed | sums).items():
        net = Lines(before, after, moved_out, moved_in).net
        yield f"| {name} | {before} | {after} | {moved_out} | {moved_in} | {net:+d} |"


def main(arguments: list[str]) -> int:
    """Print the table."""
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    before, after = [*arguments, "HEAD"][:2]
    print(*table(count(before, after)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
